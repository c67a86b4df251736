// The scorers, defined as in scikit-learn (sklearn/metrics/_classification.py).
#include "engine/metrics/scorers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

// Per class: rows of it, rows predicted as it, and both.
struct ClassCounts {
  std::vector<double> actual, predicted, hit;
};

ClassCounts count_classes(const Predictions& p) {
  const auto k = static_cast<std::size_t>(p.n_classes);
  ClassCounts counts{std::vector<double>(k), std::vector<double>(k), std::vector<double>(k)};
  for (std::size_t i = 0; i < p.y_true.size(); ++i) {
    const auto actual = static_cast<std::size_t>(p.y_true[i]), predicted = static_cast<std::size_t>(p.y_pred[i]);
    counts.actual[actual] += 1, counts.predicted[predicted] += 1;
    if (actual == predicted) counts.hit[actual] += 1;
  }
  return counts;
}

// Share of the rows whose class was predicted.
double accuracy(const Predictions& p) {
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < p.y_true.size(); ++i) hits += p.y_true[i] == p.y_pred[i];
  return static_cast<double>(hits) / static_cast<double>(p.y_true.size());
}

// Mean recall of the classes that occur in y_true.
double balanced_accuracy(const Predictions& p) {
  const ClassCounts counts = count_classes(p);
  double sum = 0, n = 0;
  for (std::size_t c = 0; c < counts.actual.size(); ++c) {
    if (counts.actual[c] > 0) sum += counts.hit[c] / counts.actual[c], n += 1;
  }
  return sum / n;
}

// Unweighted mean of F1 over the classes that occur in y_true or y_pred; a class that is never hit counts 0.
double f1_macro(const Predictions& p) {
  const ClassCounts counts = count_classes(p);
  double sum = 0, n = 0;
  for (std::size_t c = 0; c < counts.actual.size(); ++c) {
    const double rows = counts.actual[c] + counts.predicted[c];
    if (rows > 0) sum += 2 * counts.hit[c] / rows, n += 1;
  }
  return sum / n;
}

// Minus the mean negative log of the true class's probability, which is clipped to [eps, 1 - eps], eps of double. The columns of
// proba are all classes of the data set, so a fold without one of them still has a score (scikit-learn gives NaN there).
double neg_log_loss(const Predictions& p) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  double sum = 0;
  for (std::size_t i = 0; i < p.y_true.size(); ++i) {
    const double share = p.proba[i * static_cast<std::size_t>(p.n_classes) + static_cast<std::size_t>(p.y_true[i])];
    sum += std::log(std::clamp(share, kEps, 1 - kEps));
  }
  return sum / static_cast<double>(p.y_true.size());
}

constexpr std::array kScorers = {
    Scorer{.name = "accuracy", .kind = ScorerKind::kClassification, .needs_labels = true, .score = accuracy},
    Scorer{.name = "balanced_accuracy", .kind = ScorerKind::kClassification, .needs_labels = true, .score = balanced_accuracy},
    Scorer{.name = "f1_macro", .kind = ScorerKind::kClassification, .needs_labels = true, .score = f1_macro},
    Scorer{.name = "neg_log_loss", .kind = ScorerKind::kClassification, .needs_proba = true, .score = neg_log_loss},
};

}  // namespace

std::span<const Scorer> scorers() { return kScorers; }

const Scorer* find_scorer(std::string_view name) {
  const auto found = std::find_if(kScorers.begin(), kScorers.end(), [&](const Scorer& s) { return s.name == name; });
  return found == kScorers.end() ? nullptr : &*found;
}

std::vector<std::string> scorer_names() {
  std::vector<std::string> names;
  for (const Scorer& scorer : kScorers) names.emplace_back(scorer.name);
  return names;
}

}  // namespace kedge::engine
