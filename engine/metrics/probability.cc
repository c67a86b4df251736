// Scores of predicted probabilities (sklearn/metrics/_classification.py, _ranking.py).
#include "engine/metrics/probability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/require.h"
#include "engine/metrics/sums.h"

namespace kedge::engine {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::int64_t rows_of(const ScoreView& view) { return static_cast<std::int64_t>(view.y_true.size()); }

const double* row_of(const ScoreView& view, std::int64_t i) { return view.scores.data() + i * view.n_classes; }

double mean_log_loss(const char* metric, const ScoreView& proba) {
  return -weighted_mean(metric, rows_of(proba), proba.weights, [&](std::int64_t i) {
    return clipped_log(row_of(proba, i)[proba.y_true[static_cast<std::size_t>(i)]]);
  });
}

double mean_squared_distance(const char* metric, const ScoreView& proba) {
  return weighted_mean(metric, rows_of(proba), proba.weights, [&](std::int64_t i) {
    const double* row = row_of(proba, i);
    double sum = 0;
    for (std::int32_t c = 0; c < proba.n_classes; ++c) {
      const double distance = (c == proba.y_true[static_cast<std::size_t>(i)] ? 1.0 : 0.0) - row[c];
      sum += distance * distance;
    }
    return sum;
  });
}

// Share of each class in the weight of the rows.
std::vector<double> class_shares(const ScoreView& proba) {
  std::vector<double> shares(static_cast<std::size_t>(proba.n_classes));
  double total = 0;
  for (std::size_t i = 0; i < proba.y_true.size(); ++i) {
    const double weight = proba.weights.empty() ? 1.0 : proba.weights[i];
    shares[static_cast<std::size_t>(proba.y_true[i])] += weight, total += weight;
  }
  for (double& share : shares) share /= total;
  return shares;
}

// Scores of class 1 alone: it is predicted above 0.5 if all scores could be probabilities, otherwise above 0.
double share_above_threshold(const ScoreView& view) {
  const auto [lowest, highest] = std::minmax_element(view.scores.begin(), view.scores.end());
  const double threshold = *lowest >= 0 && *highest <= 1 ? 0.5 : 0.0;
  return weighted_mean("top_k_accuracy", rows_of(view), view.weights, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return (view.scores[at] > threshold ? 1 : 0) == view.y_true[at] ? 1.0 : 0.0;
  });
}

}  // namespace

void require_probabilities(const char* metric, const ScoreView& proba) {
  const auto bad = std::find_if(proba.scores.begin(), proba.scores.end(), [](double p) { return !(p >= 0 && p <= 1); });
  if (bad == proba.scores.end()) return;
  throw schema::Error(schema::ErrorCode::kBadData,
                      fmt::format("{}: a probability in row {} is {}, must be from 0 to 1", metric,
                                  (bad - proba.scores.begin()) / proba.n_classes, *bad));
}

double clipped_log(double p) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  return std::log(std::clamp(p, kEps, 1 - kEps));
}

double log_loss(const ScoreView& proba) {
  require_probabilities("log_loss", proba);
  return mean_log_loss("log_loss", proba);
}

double brier_score_loss(const ScoreView& proba) {
  require_probabilities("brier_score_loss", proba);
  return mean_squared_distance("brier_score_loss", proba) * (proba.n_classes < 3 ? 0.5 : 1.0);
}

double d2_log_loss_score(const ScoreView& proba) {
  require_probabilities("d2_log_loss_score", proba);
  if (proba.y_true.size() < 2) return kNaN;
  double null_loss = 0;
  for (double share : class_shares(proba)) null_loss -= share == 0 ? 0.0 : share * clipped_log(share);
  return 1 - mean_log_loss("d2_log_loss_score", proba) / null_loss;
}

double d2_brier_score(const ScoreView& proba) {
  require_probabilities("d2_brier_score", proba);
  if (proba.y_true.size() < 2) return kNaN;
  const std::vector<double> shares = class_shares(proba);
  double null_score = 0;   // mean over rows of sum_c (own class - share)^2, row by row equal within a class
  for (std::size_t own = 0; own < shares.size(); ++own) {
    double distance = 0;
    for (std::size_t c = 0; c < shares.size(); ++c) distance += std::pow((c == own ? 1.0 : 0.0) - shares[c], 2);
    null_score += shares[own] * distance;
  }
  return 1 - mean_squared_distance("d2_brier_score", proba) / null_score;
}

double top_k_accuracy_score(const ScoreView& view, std::int32_t k) {
  const auto nan = std::find_if(view.scores.begin(), view.scores.end(), [](double score) { return std::isnan(score); });
  require(nan == view.scores.end(), schema::ErrorCode::kBadData, "top_k_accuracy: score {} is NaN", nan - view.scores.begin());
  if (k >= view.n_classes) return 1.0;
  if (view.scores.size() == view.y_true.size()) return share_above_threshold(view);
  return weighted_mean("top_k_accuracy", rows_of(view), view.weights, [&](std::int64_t i) {
    const double* row = row_of(view, i);
    const std::int32_t own = view.y_true[static_cast<std::size_t>(i)];
    std::int32_t before = 0;   // classes that rank before the true one
    for (std::int32_t c = 0; c < view.n_classes; ++c) before += row[c] > row[own] || (row[c] == row[own] && c > own);
    return before < k ? 1.0 : 0.0;
  });
}

}  // namespace kedge::engine
