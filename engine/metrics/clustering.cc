// Agreement of two labellings (sklearn/metrics/cluster/_supervised.py).
#include "engine/metrics/clustering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/metrics/contingency.h"
#include "engine/metrics/expected_mutual_info.h"

namespace kedge::engine {
namespace {

__extension__ using Wide = __int128;   // products of two numbers of pairs

constexpr double kEps = std::numeric_limits<double>::epsilon();

// Ordered pairs of different rows: together or apart in the true labels and in the predicted ones.
struct PairCounts {
  std::int64_t both_apart, only_pred, only_true, both;
};

std::int64_t sum_of_squares(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (std::int64_t value : values) sum += value * value;
  return sum;
}

PairCounts count_pairs(const Contingency& table) {
  std::int64_t same = 0;
  for (const Contingency::Cell& cell : table.cells) same += cell.rows * cell.rows;
  const std::int64_t in_true = sum_of_squares(table.true_sizes) - same, in_pred = sum_of_squares(table.pred_sizes) - same;
  return {.both_apart = table.n_rows * table.n_rows - in_true - in_pred - same,
          .only_pred = in_pred, .only_true = in_true, .both = same - table.n_rows};
}

double entropy(const std::vector<std::int64_t>& sizes, std::int64_t n_rows) {
  if (sizes.size() == 1) return 0.0;
  const auto n = static_cast<double>(n_rows);
  double sum = 0;
  for (std::int64_t size : sizes) {
    const auto rows = static_cast<double>(size);
    sum += rows / n * (std::log(rows) - std::log(n));
  }
  return -sum;
}

double mutual_info(const Contingency& table) {
  if (table.true_sizes.size() == 1 || table.pred_sizes.size() == 1) return 0.0;
  const auto n = static_cast<double>(table.n_rows);
  double sum = 0;
  for (const Contingency::Cell& cell : table.cells) {
    const auto rows = static_cast<double>(cell.rows);
    const double outer = static_cast<double>(table.true_sizes[static_cast<std::size_t>(cell.in_true)]) *
                         static_cast<double>(table.pred_sizes[static_cast<std::size_t>(cell.in_pred)]);
    const double term = rows / n * (std::log(rows) - std::log(n)) + rows / n * (2 * std::log(n) - std::log(outer));
    sum += std::abs(term) < kEps ? 0.0 : term;
  }
  return std::max(sum, 0.0);
}

// At least eps away from 0, on its own side.
double away_from_zero(double value) { return value < 0 ? std::min(value, -kEps) : std::max(value, kEps); }

}  // namespace

double rand_score(const LabelPair& labels) {
  const PairCounts pairs = count_pairs(contingency(labels.labels_true, labels.labels_pred));
  const std::int64_t agree = pairs.both_apart + pairs.both, all = agree + pairs.only_pred + pairs.only_true;
  return agree == all ? 1.0 : static_cast<double>(agree) / static_cast<double>(all);
}

double adjusted_rand_score(const LabelPair& labels) {
  const PairCounts pairs = count_pairs(contingency(labels.labels_true, labels.labels_pred));
  if (pairs.only_pred == 0 && pairs.only_true == 0) return 1.0;
  const Wide tn = pairs.both_apart, fp = pairs.only_pred, fn = pairs.only_true, tp = pairs.both;
  return 2.0 * static_cast<double>(tp * tn - fn * fp) / static_cast<double>((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn));
}

double fowlkes_mallows_score(const LabelPair& labels) {
  const Contingency table = contingency(labels.labels_true, labels.labels_pred);
  const auto together = static_cast<double>(count_pairs(table).both);
  if (together == 0) return 0.0;
  return std::sqrt(together / static_cast<double>(sum_of_squares(table.pred_sizes) - table.n_rows)) *
         std::sqrt(together / static_cast<double>(sum_of_squares(table.true_sizes) - table.n_rows));
}

double mutual_info_score(const LabelPair& labels) { return mutual_info(contingency(labels.labels_true, labels.labels_pred)); }

double normalized_mutual_info_score(const LabelPair& labels) {
  const Contingency table = contingency(labels.labels_true, labels.labels_pred);
  if (table.true_sizes.size() == 1 && table.pred_sizes.size() == 1) return 1.0;
  const double information = mutual_info(table);
  if (information == 0) return 0.0;
  return information / ((entropy(table.true_sizes, table.n_rows) + entropy(table.pred_sizes, table.n_rows)) / 2);
}

double adjusted_mutual_info_score(const LabelPair& labels) {
  const Contingency table = contingency(labels.labels_true, labels.labels_pred);
  const bool one_true = table.true_sizes.size() == 1, one_pred = table.pred_sizes.size() == 1;
  if (one_true || one_pred) return one_true && one_pred ? 1.0 : 0.0;
  const double expected = expected_mutual_information(table.true_sizes, table.pred_sizes, table.n_rows);
  const double mean_entropy = (entropy(table.true_sizes, table.n_rows) + entropy(table.pred_sizes, table.n_rows)) / 2;
  return away_from_zero(mutual_info(table) - expected) / away_from_zero(mean_entropy - expected);
}

HomogeneityCompleteness homogeneity_completeness_v_measure(const LabelPair& labels) {
  const Contingency table = contingency(labels.labels_true, labels.labels_pred);
  const double information = mutual_info(table);
  const double entropy_true = entropy(table.true_sizes, table.n_rows), entropy_pred = entropy(table.pred_sizes, table.n_rows);
  const double h = entropy_true == 0 ? 1.0 : information / entropy_true;
  const double c = entropy_pred == 0 ? 1.0 : information / entropy_pred;
  return {.homogeneity = h, .completeness = c, .v_measure = h + c == 0 ? 0.0 : 2 * h * c / (h + c)};
}

}  // namespace kedge::engine
