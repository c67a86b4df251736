// Counts classes in one pass.
#include "engine/metrics/class_counts.h"

#include <numeric>

namespace kedge::engine {

double ClassCounts::total() const { return std::accumulate(actual.begin(), actual.end(), 0.0); }

ClassCounts count_classes(const LabelView& labels) {
  const auto k = static_cast<std::size_t>(labels.n_classes);
  std::vector<std::int64_t> n_actual(k), n_predicted(k), n_hit(k);
  for (std::size_t i = 0; i < labels.y_true.size(); ++i) {
    const auto actual = static_cast<std::size_t>(labels.y_true[i]), predicted = static_cast<std::size_t>(labels.y_pred[i]);
    ++n_actual[actual], ++n_predicted[predicted], n_hit[actual] += actual == predicted;
  }
  ClassCounts counts{{n_actual.begin(), n_actual.end()}, {n_predicted.begin(), n_predicted.end()}, {n_hit.begin(), n_hit.end()},
                     std::vector<bool>(k)};
  for (std::size_t c = 0; c < k; ++c) counts.present[c] = n_actual[c] > 0 || n_predicted[c] > 0;
  if (labels.weights.empty()) return counts;
  for (auto* sums : {&counts.actual, &counts.predicted, &counts.hit}) sums->assign(k, 0.0);
  for (std::size_t i = 0; i < labels.y_true.size(); ++i) {
    const auto actual = static_cast<std::size_t>(labels.y_true[i]), predicted = static_cast<std::size_t>(labels.y_pred[i]);
    const double weight = labels.weights[i];
    counts.actual[actual] += weight, counts.predicted[predicted] += weight;
    if (actual == predicted) counts.hit[actual] += weight;
  }
  return counts;
}

ConfusionMatrix confusion_matrix(const LabelView& labels, Normalize normalize) {
  const auto k = static_cast<std::size_t>(labels.n_classes);
  ConfusionMatrix matrix{labels.n_classes, std::vector<double>(k * k)};
  for (std::size_t i = 0; i < labels.y_true.size(); ++i) {
    const auto actual = static_cast<std::size_t>(labels.y_true[i]), predicted = static_cast<std::size_t>(labels.y_pred[i]);
    matrix.counts[actual * k + predicted] += labels.weights.empty() ? 1.0 : labels.weights[i];
  }
  if (normalize == Normalize::kNone) return matrix;
  const auto share_of = [&](std::size_t t, std::size_t p) {   // which sum a cell is a share of
    return normalize == Normalize::kTrue ? t : normalize == Normalize::kPred ? p : 0;
  };
  std::vector<double> sums(k);
  for (std::size_t cell = 0; cell < k * k; ++cell) sums[share_of(cell / k, cell % k)] += matrix.counts[cell];
  for (std::size_t cell = 0; cell < k * k; ++cell) {
    const double sum = sums[share_of(cell / k, cell % k)];
    matrix.counts[cell] = sum == 0 ? 0.0 : matrix.counts[cell] / sum;
  }
  return matrix;
}

}  // namespace kedge::engine
