// What a pipeline said of the rows that it was scored on, kept for tables and curves.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine {

// Host memory; of several folds one behind the other.
struct ScoredRows {
  bool wants_labels = false, wants_scores = false, wants_outputs = false;
  std::vector<std::int32_t> y_true, y_pred;
  std::vector<double> scores;   // decision or, without one, probabilities: n (two classes) or n x n_classes
  std::vector<double> output_scores;   // of several target columns: of each fold scorers x outputs
};

}  // namespace kedge::engine
