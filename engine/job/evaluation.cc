// Turns scored rows into what a result shows of them.
#include "engine/job/evaluation.h"

#include <algorithm>
#include <cmath>

#include "engine/metrics/class_counts.h"
#include "engine/metrics/ranking.h"
#include "engine/model_selection/cross_validate.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr std::size_t kMostPoints = 200;

// Positions of at most kMostPoints of n points, the first and the last among them.
std::vector<std::size_t> thinned(std::size_t n) {
  std::vector<std::size_t> kept;
  const std::size_t count = std::min(n, kMostPoints);
  for (std::size_t i = 0; i < count; ++i) kept.push_back(count < 2 ? 0 : i * (n - 1) / (count - 1));
  return kept;
}

std::vector<double> at(const std::vector<double>& values, const std::vector<std::size_t>& kept) {
  std::vector<double> taken;
  for (const std::size_t i : kept)
    if (i < values.size()) taken.push_back(values[i]);
  return taken;
}

Value roc_value(const ScoreView& view) {
  const RocCurve curve = roc_curve(view);
  const auto kept = thinned(curve.fpr.size());
  return ValueMap{{"fpr", at(curve.fpr, kept)}, {"tpr", at(curve.tpr, kept)}, {"thresholds", at(curve.thresholds, kept)}, {"auc", roc_auc_score(view)}};
}

Value precision_recall_value(const ScoreView& view) {
  const PrecisionRecallCurve curve = precision_recall_curve(view, true);
  const auto kept = thinned(curve.precision.size());
  return ValueMap{{"precision", at(curve.precision, kept)},
                  {"recall", at(curve.recall, kept)},
                  {"thresholds", at(curve.thresholds, kept)},
                  {"average_precision", average_precision_score(view)}};
}

// Two-class problems, by name.
struct Curves {
  ValueMap roc, precision_recall;
  void add(const std::string& name, const std::vector<std::int32_t>& y_true, const std::vector<double>& scores) {
    const auto positives = std::count(y_true.begin(), y_true.end(), 1);
    if (positives == 0 || positives == static_cast<std::ptrdiff_t>(y_true.size())) return;
    const ScoreView view{.y_true = y_true, .scores = scores, .n_classes = 2};
    roc.emplace_back(name, roc_value(view));
    precision_recall.emplace_back(name, precision_recall_value(view));
  }
};

Curves curves_of(const ScoredRows& rows, const std::vector<std::string>& classes) {
  Curves curves;
  const std::size_t n = rows.y_true.size(), k = classes.size(), stride = rows.scores.size() / std::max<std::size_t>(n, 1);
  std::vector<std::int32_t> all_true;
  std::vector<double> all_scores;
  for (std::size_t c = k == 2 ? 1 : 0; c < k; ++c) {
    std::vector<std::int32_t> is_class(n);
    std::vector<double> scores(n);
    for (std::size_t i = 0; i < n; ++i) {
      is_class[i] = rows.y_true[i] == static_cast<std::int32_t>(c) ? 1 : 0;
      scores[i] = rows.scores[stride == 1 ? i : i * stride + c];
    }
    curves.add(classes[c], is_class, scores);
    all_true.insert(all_true.end(), is_class.begin(), is_class.end());
    all_scores.insert(all_scores.end(), scores.begin(), scores.end());
  }
  if (k > 2) curves.add("micro", all_true, all_scores);
  return curves;
}

}  // namespace

ValueMap output_scores_of(const ScoredRows& rows, const std::vector<TargetOutput>& outputs,
                          const std::vector<const Scorer*>& scorers) {
  ValueMap by_output;
  const std::size_t width = outputs.size() * scorers.size();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    ValueMap by_scorer;
    for (std::size_t s = 0; s < scorers.size(); ++s) {
      std::vector<double> folds;
      for (std::size_t at = s * outputs.size() + k; at < rows.output_scores.size(); at += width)
        folds.push_back(rows.output_scores[at]);
      schema::Score score = summarize(std::move(folds));
      by_scorer.emplace_back(scorers[s]->name,
                             ValueMap{{"perFold", std::move(score.perFold)}, {"mean", score.mean}, {"std", score.std}});
    }
    by_output.emplace_back(outputs[k].name, std::move(by_scorer));
  }
  return {{"outputs", std::move(by_output)}};
}

ValueMap evaluation_of(const ScoredRows& rows, const std::vector<std::string>& classes) {
  ValueMap found;
  const auto n_classes = static_cast<std::int32_t>(classes.size());
  if (rows.wants_labels) {
    const ConfusionMatrix matrix = confusion_matrix({.y_true = rows.y_true, .y_pred = rows.y_pred, .n_classes = n_classes});
    ValueList table;
    for (std::int32_t t = 0; t < n_classes; ++t)
      table.emplace_back(std::vector<double>(matrix.counts.begin() + t * n_classes, matrix.counts.begin() + (t + 1) * n_classes));
    found.emplace_back("confusion_matrix", ValueMap{{"labels", ValueList(classes.begin(), classes.end())}, {"matrix", std::move(table)}});
  }
  if (rows.wants_scores) {
    Curves curves = curves_of(rows, classes);
    found.emplace_back("roc_curve", std::move(curves.roc));
    found.emplace_back("precision_recall_curve", std::move(curves.precision_recall));
  }
  return found;
}

}  // namespace kedge::engine
