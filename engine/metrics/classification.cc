// Scores of predicted classes (sklearn/metrics/_classification.py).
#include "engine/metrics/classification.h"

#include <cmath>
#include <limits>

#include "engine/core/require.h"
#include "engine/metrics/class_counts.h"
#include "engine/metrics/sums.h"

namespace kedge::engine {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Share {
  double part = 0, whole = 0;
  double value() const { return whole == 0 ? 0.0 : part / whole; }
};

// A metric is one share by class; its sums over classes give the micro average.
using ShareOf = Share (*)(double actual, double predicted, double hit);

Share precision_share(double, double predicted, double hit) { return {hit, predicted}; }
Share recall_share(double actual, double, double hit) { return {hit, actual}; }
Share f1_share(double actual, double predicted, double hit) { return {2 * hit, actual + predicted}; }
Share jaccard_share(double actual, double predicted, double hit) { return {hit, hit + (predicted - hit) + (actual - hit)}; }

double micro(const ClassCounts& counts, ShareOf share_of) {
  double actual = 0, predicted = 0, hit = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    actual += counts.actual[c], predicted += counts.predicted[c], hit += counts.hit[c];
  }
  return share_of(actual, predicted, hit).value();
}

// By class, each with its weight in y_true (or all with the same weight, also if all weights are 0).
double mean_over_classes(const ClassCounts& counts, ShareOf share_of, bool by_weight) {
  const bool weighted = by_weight && counts.total() != 0;
  double sum = 0, weights = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (!counts.present[c]) continue;
    const double weight = weighted ? counts.actual[c] : 1.0;
    sum += weight * share_of(counts.actual[c], counts.predicted[c], counts.hit[c]).value();
    weights += weight;
  }
  return sum / weights;
}

double averaged(const char* metric, const LabelView& labels, Average average, ShareOf share_of) {
  require(average != Average::kBinary || labels.n_classes <= 2, schema::ErrorCode::kInvalidValue,
          "{0} is for two classes, the data have {1}: use {0}_macro, {0}_micro or {0}_weighted", metric, labels.n_classes);
  const ClassCounts counts = count_classes(labels);
  switch (average) {
    case Average::kBinary:
      return counts.size() < 2 ? 0.0 : share_of(counts.actual[1], counts.predicted[1], counts.hit[1]).value();
    case Average::kMicro: return micro(counts, share_of);
    case Average::kMacro: return mean_over_classes(counts, share_of, false);
    case Average::kWeighted: return mean_over_classes(counts, share_of, true);
  }
  return kNaN;
}

double kappa_cost(KappaWeights weights, double distance) {
  if (weights == KappaWeights::kNone) return distance == 0 ? 0.0 : 1.0;
  return weights == KappaWeights::kLinear ? std::abs(distance) : distance * distance;
}

// Cost of the confusions that independent draws of the same classes would have; unweighted ones need no second loop.
double cost_of_chance(const ClassCounts& counts, KappaWeights weights) {
  const double total = counts.total();
  double cost = 0;
  for (std::size_t p = 0; p < counts.size(); ++p) {
    if (weights == KappaWeights::kNone) {
      cost += counts.predicted[p] * (total - counts.actual[p]) / total;
      continue;
    }
    for (std::size_t t = 0; t < counts.size(); ++t) {
      const double distance = static_cast<double>(p) - static_cast<double>(t);
      cost += kappa_cost(weights, distance) * (counts.predicted[p] * counts.actual[t] / total);
    }
  }
  return cost;
}

}  // namespace

double accuracy_score(const LabelView& labels) {
  const auto n = static_cast<std::int64_t>(labels.y_true.size());
  return weighted_mean("accuracy", n, labels.weights, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return labels.y_true[at] == labels.y_pred[at] ? 1.0 : 0.0;
  });
}

double balanced_accuracy_score(const LabelView& labels) {
  const ClassCounts counts = count_classes(labels);
  double sum = 0, n = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts.actual[c] != 0) sum += counts.hit[c] / counts.actual[c], n += 1;
  }
  return sum / n;
}

double precision_score(const LabelView& labels, Average average) { return averaged("precision", labels, average, precision_share); }
double recall_score(const LabelView& labels, Average average) { return averaged("recall", labels, average, recall_share); }
double f1_score(const LabelView& labels, Average average) { return averaged("f1", labels, average, f1_share); }
double jaccard_score(const LabelView& labels, Average average) { return averaged("jaccard", labels, average, jaccard_share); }

double matthews_corrcoef(const LabelView& labels) {
  const ClassCounts counts = count_classes(labels);
  double total = 0, hits = 0, both = 0, actual = 0, predicted = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    total += counts.predicted[c], hits += counts.hit[c];
    both += counts.actual[c] * counts.predicted[c];
    actual += counts.actual[c] * counts.actual[c], predicted += counts.predicted[c] * counts.predicted[c];
  }
  const double variances = (total * total - predicted) * (total * total - actual);
  return variances == 0 ? 0.0 : (hits * total - both) / std::sqrt(variances);
}

double cohen_kappa_score(const LabelView& labels, KappaWeights weights) {
  const ClassCounts counts = count_classes(labels);
  const double chance = cost_of_chance(counts, weights);
  if (!(chance != 0)) return kNaN;
  const auto n = static_cast<std::int64_t>(labels.y_true.size());
  const double observed = weighted_sum(n, labels.weights, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return kappa_cost(weights, static_cast<double>(labels.y_true[at]) - static_cast<double>(labels.y_pred[at]));
  });
  return 1 - observed / chance;
}

LikelihoodRatios class_likelihood_ratios(const LabelView& labels) {
  require(labels.n_classes <= 2, schema::ErrorCode::kInvalidValue, "likelihood ratios are for two classes, the data have {}",
          labels.n_classes);
  const ConfusionMatrix matrix = confusion_matrix({labels.y_true, labels.y_pred, 2, labels.weights});
  const double tn = matrix.counts[0], fp = matrix.counts[1], fn = matrix.counts[2], tp = matrix.counts[3];
  return {.positive = fp == 0 ? 1.0 : tp * (tn + fp) / (fp * (tp + fn)),
          .negative = tn == 0 ? 1.0 : fn * (tn + fp) / (tn * (tp + fn))};
}

}  // namespace kedge::engine
