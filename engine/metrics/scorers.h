// Scores of predictions: the list of scorers, greater is better.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine {

// What a scorer may look at; host memory. n = y_true.size() >= 1, codes in 0 .. n_classes - 1.
struct Predictions {
  std::span<const std::int32_t> y_true;
  std::span<const std::int32_t> y_pred;   // n; empty if only probabilities were asked for
  std::span<const double> proba;          // n x n_classes, row-major; empty if not needed
  std::int32_t n_classes = 0;
};

struct Scorer {
  std::string_view name;    // as in scikit-learn
  bool needs_proba;         // reads proba; otherwise reads y_pred
  double (*score)(const Predictions&);
};

std::span<const Scorer> scorers();
const Scorer* find_scorer(std::string_view name);   // null if there is none
std::vector<std::string> scorer_names();

}  // namespace kedge::engine
