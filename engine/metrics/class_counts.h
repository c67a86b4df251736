// How often each class is true, predicted, and both; and the confusion matrix.
#pragma once

#include <vector>

#include "engine/metrics/views.h"

namespace kedge::engine {

// Summed weights by class. Memory and time linear in rows and classes.
struct ClassCounts {
  std::vector<double> actual, predicted, hit;
  std::vector<bool> present;   // in y_true or y_pred, with rows of any weight

  std::size_t size() const { return actual.size(); }
  double total() const;   // of all rows
};
ClassCounts count_classes(const LabelView& labels);

enum class Normalize { kNone, kTrue, kPred, kAll };

// counts[t * n_classes + p]: weight of the rows of class t predicted as class p.
struct ConfusionMatrix {
  std::int32_t n_classes = 0;
  std::vector<double> counts;
};
// Normalised by the rows (kTrue), the columns (kPred) or the whole; shares of nothing are 0.
// As sklearn.metrics.confusion_matrix with labels = all classes.
ConfusionMatrix confusion_matrix(const LabelView& labels, Normalize normalize = Normalize::kNone);

}  // namespace kedge::engine
