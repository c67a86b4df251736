// Curves and areas of rankings by score (sklearn/metrics/_ranking.py).
#include "engine/metrics/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/require.h"
#include "engine/core/stop.h"
#include "engine/metrics/score_order.h"
#include "engine/metrics/sums.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Every stride-th number: the scores of one class.
struct ClassScores {
  const double* data;
  std::size_t stride;
  double operator[](std::size_t i) const { return data[i * stride]; }
};

ClassScores scores_of(const ScoreView& view, std::size_t c) { return {view.scores.data() + c, static_cast<std::size_t>(view.n_classes)}; }

ClassScores positive_scores(const ScoreView& view) {
  return view.scores.size() == view.y_true.size() ? ClassScores{view.scores.data(), 1} : scores_of(view, 1);
}

std::uint64_t checked_key(const char* metric, double score, std::size_t row) {
  require(!std::isnan(score), ErrorCode::kBadData, "{}: the score of row {} is NaN", metric, row);
  return falling_key(score);
}

// The rows that weigh something, best first.
std::vector<RankedRow> ranked(const char* metric, const ScoreView& view, ClassScores scores, std::int32_t positive) {
  std::vector<RankedRow> rows;
  rows.reserve(view.y_true.size());
  for (std::size_t i = 0; i < view.y_true.size(); ++i) {
    if (!view.weights.empty() && view.weights[i] == 0) continue;
    rows.push_back({checked_key(metric, scores[i], i), static_cast<std::uint32_t>(i), view.y_true[i] == positive ? 1u : 0u});
  }
  sort_by_key(rows);
  return rows;
}

// Calls visit(key, true positives, false positives) at the last row of each distinct score.
template <class Visit>
void visit_thresholds(const std::vector<RankedRow>& rows, std::span<const double> weights, const Visit& visit) {
  double true_positives = 0, false_positives = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : weights[rows[i].row];
    (rows[i].positive != 0 ? true_positives : false_positives) += weight;
    if (i + 1 == rows.size() || rows[i + 1].key != rows[i].key) visit(rows[i].key, true_positives, false_positives);
  }
}

struct Threshold {
  double score, tps, fps;
};

std::vector<Threshold> thresholds(const char* metric, const ScoreView& view) {
  require(view.n_classes <= 2, ErrorCode::kInvalidValue, "{} is for two classes, the data have {}", metric, view.n_classes);
  std::vector<Threshold> found;
  visit_thresholds(ranked(metric, view, positive_scores(view), 1), view.weights,
                   [&](std::uint64_t key, double tps, double fps) { found.push_back({score_of_key(key), tps, fps}); });
  require(!found.empty(), ErrorCode::kBadData, "{}: no row has a weight other than 0", metric);
  return found;
}

// Keeps the first, the last, and those for which keep(i) holds.
template <class Keep>
void keep_inner(std::vector<Threshold>& points, const Keep& keep) {
  std::vector<Threshold> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i == 0 || i + 1 == points.size() || keep(i)) kept.push_back(points[i]);
  }
  points = std::move(kept);
}

// Trapezoids between the points; counts are whole numbers without weights, so that nothing is rounded before the division.
double area_under_roc(const std::vector<RankedRow>& rows, std::span<const double> weights) {
  double area = 0, last_tps = 0, last_fps = 0;
  visit_thresholds(rows, weights, [&](std::uint64_t, double tps, double fps) {
    area += (fps - last_fps) * (tps + last_tps) / 2;
    last_tps = tps, last_fps = fps;
  });
  return last_tps == 0 || last_fps == 0 ? kNaN : area / last_tps / last_fps;
}

double step_area(const std::vector<RankedRow>& rows, std::span<const double> weights) {
  double sum = 0, last_tps = 0;
  visit_thresholds(rows, weights, [&](std::uint64_t, double tps, double fps) {
    const double predicted = tps + fps;
    sum += predicted == 0 ? 0.0 : (tps - last_tps) * (tps / predicted);
    last_tps = tps;
  });
  return last_tps == 0 ? 0.0 : std::max(0.0, sum / last_tps);
}

void require_shares(const char* metric, const ScoreView& proba) {
  const auto k = static_cast<std::size_t>(proba.n_classes);
  for (std::size_t i = 0; i < proba.y_true.size(); ++i) {
    check_job_stop();
    double sum = 0;
    for (double share : proba.scores.subspan(i * k, k)) sum += share;
    require(std::abs(1 - sum) <= 1e-8 + 1e-5 * std::abs(sum), ErrorCode::kBadData,
            "{}: the probabilities of row {} sum to {}, must sum to 1", metric, i, sum);
  }
}

// Rows of each class, ascending.
std::vector<std::vector<std::uint32_t>> rows_by_class(const ScoreView& view) {
  std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(view.n_classes));
  for (std::size_t i = 0; i < view.y_true.size(); ++i) {
    members[static_cast<std::size_t>(view.y_true[i])].push_back(static_cast<std::uint32_t>(i));
  }
  return members;
}

std::vector<double> weight_by_class(const ScoreView& view) {
  std::vector<double> weights(static_cast<std::size_t>(view.n_classes));
  for (std::size_t i = 0; i < view.y_true.size(); ++i) {
    weights[static_cast<std::size_t>(view.y_true[i])] += view.weights.empty() ? 1.0 : view.weights[i];
  }
  return weights;
}

// Area for telling the rows of `own` from those of `other` by the scores of class own.
double pair_area(const char* metric, ClassScores scores, const std::vector<std::uint32_t>& own,
                 const std::vector<std::uint32_t>& other) {
  check_job_stop();
  std::vector<RankedRow> rows;
  rows.reserve(own.size() + other.size());
  for (std::uint32_t i : own) rows.push_back({checked_key(metric, scores[i], i), i, 1});
  for (std::uint32_t i : other) rows.push_back({checked_key(metric, scores[i], i), i, 0});
  sort_by_key(rows);
  return area_under_roc(rows, {});
}

}  // namespace

RocCurve roc_curve(const ScoreView& view, bool drop_intermediate) {
  std::vector<Threshold> points = thresholds("roc_curve", view);
  if (drop_intermediate) {
    keep_inner(points, [&points](std::size_t i) {
      const Threshold &a = points[i - 1], &b = points[i], &c = points[i + 1];
      return (c.fps - b.fps) - (b.fps - a.fps) != 0 || (c.tps - b.tps) - (b.tps - a.tps) != 0;
    });
  }
  points.insert(points.begin(), {std::numeric_limits<double>::infinity(), 0, 0});
  const double positives = points.back().tps, negatives = points.back().fps;
  RocCurve curve;
  for (const Threshold& point : points) {
    curve.fpr.push_back(negatives > 0 ? point.fps / negatives : kNaN);
    curve.tpr.push_back(positives > 0 ? point.tps / positives : kNaN);
    curve.thresholds.push_back(point.score);
  }
  return curve;
}

PrecisionRecallCurve precision_recall_curve(const ScoreView& view, bool drop_intermediate) {
  std::vector<Threshold> points = thresholds("precision_recall_curve", view);
  if (drop_intermediate) {
    keep_inner(points, [&points](std::size_t i) { return points[i].tps != points[i - 1].tps || points[i + 1].tps != points[i].tps; });
  }
  const double positives = points.back().tps;
  PrecisionRecallCurve curve;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    const double predicted = point->tps + point->fps;
    curve.precision.push_back(predicted == 0 ? 0.0 : point->tps / predicted);
    curve.recall.push_back(positives == 0 ? 1.0 : point->tps / positives);
    curve.thresholds.push_back(point->score);
  }
  curve.precision.push_back(1.0);
  curve.recall.push_back(0.0);
  return curve;
}

double roc_auc_score(const ScoreView& view) {
  require(view.n_classes <= 2, ErrorCode::kInvalidValue,
          "roc_auc is for two classes, the data have {}: use roc_auc_ovr or roc_auc_ovo", view.n_classes);
  return area_under_roc(ranked("roc_auc", view, positive_scores(view), 1), view.weights);
}

double roc_auc_ovr_score(const ScoreView& proba, RocAverage average) {
  if (proba.n_classes <= 2) return roc_auc_score(proba);
  require_shares("roc_auc_ovr", proba);
  const std::vector<double> class_weights = weight_by_class(proba);
  double sum = 0, total = 0;
  for (std::int32_t c = 0; c < proba.n_classes; ++c) {
    check_job_stop();
    const double weight = average == RocAverage::kMacro ? 1.0 : class_weights[static_cast<std::size_t>(c)];
    if (weight == 0) continue;
    const auto rows = ranked("roc_auc_ovr", proba, scores_of(proba, static_cast<std::size_t>(c)), c);
    sum += weight * area_under_roc(rows, proba.weights);
    total += weight;
  }
  return total == 0 ? 0.0 : sum / total;
}

double roc_auc_ovo_score(const ScoreView& proba, RocAverage average) {
  if (proba.n_classes <= 2) return roc_auc_score(proba);
  require(proba.weights.empty(), ErrorCode::kInvalidValue,
          "roc_auc_ovo takes no sample weights with {} classes: leave them out or use roc_auc_ovr", proba.n_classes);
  require_shares("roc_auc_ovo", proba);
  const auto members = rows_by_class(proba);
  double sum = 0, total = 0;
  for (std::size_t a = 0; a < members.size(); ++a) {
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      if (members[a].empty() || members[b].empty()) continue;
      const double area = (pair_area("roc_auc_ovo", scores_of(proba, a), members[a], members[b]) +
                           pair_area("roc_auc_ovo", scores_of(proba, b), members[b], members[a])) / 2;
      const double weight = average == RocAverage::kMacro ? 1.0 : static_cast<double>(members[a].size() + members[b].size());
      sum += weight * area, total += weight;
    }
  }
  return sum / total;
}

double average_precision_score(const ScoreView& view) {
  if (view.n_classes <= 2) return step_area(ranked("average_precision", view, positive_scores(view), 1), view.weights);
  const auto members = rows_by_class(view);
  const bool all_occur = std::none_of(members.begin(), members.end(), [](const auto& rows) { return rows.empty(); });
  if (!all_occur) return kNaN;
  double sum = 0;
  for (std::int32_t c = 0; c < view.n_classes; ++c) {
    check_job_stop();
    sum += step_area(ranked("average_precision", view, scores_of(view, static_cast<std::size_t>(c)), c), view.weights);
  }
  return sum / view.n_classes;
}

}  // namespace kedge::engine
