// Scores of predictions: the list of scorers, greater is better.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine {

enum class ScorerKind { kClassification, kRegression, kClustering };

// What a scorer may look at; host memory, borrowed for the call. n >= 1 rows; a span that no wanted scorer needs is empty.
struct Predictions {
  std::span<const std::int32_t> y_true, y_pred;       // n class codes, 0 .. n_classes - 1; or n cluster labels (-1: noise)
  std::span<const double> proba;                      // n x n_classes, row-major
  std::span<const double> decision;                   // n (two classes), or n x n_classes row-major; empty if there is no such function
  std::span<const double> true_values, pred_values;   // n each, for regression
  std::span<const double> weights;                    // n, or empty: all rows weigh 1
  std::int32_t n_classes = 0;                         // of the data set, whether or not y_true has them all
  std::span<const double> X;                          // n x n_features, row-major
  std::int64_t n_features = 0;
};

struct Scorer {
  std::string_view name;           // as in scikit-learn
  ScorerKind kind;
  bool needs_labels = false;       // reads y_pred
  bool needs_proba = false;        // reads proba
  bool needs_decision = false;     // reads decision; where the estimator has no decision function, proba
  bool needs_X = false;
  bool two_classes_only = false;   // refuses data with more (kInvalidValue); a run can say so before it fits
  double (*score)(const Predictions&) = nullptr;   // of one target; null: it scores several target columns alone
  // Of several target columns, one Predictions each, of the same rows, or of one of them alone; null: it scores one
  // target.
  double (*score_columns)(const Scorer&, std::span<const Predictions>) = nullptr;
  // score_columns takes them as labels: two classes each, of which code 1 says that a row has the label.
  bool columns_are_labels = false;
  // What a reader should know of score_columns() of the same; empty: nothing. Null: there never is something.
  std::string (*warning_of_columns)(std::span<const Predictions>) = nullptr;
};

// The score of several target columns, one Predictions each, of the same rows, or of one of them alone. Only where
// scorer.score_columns is not null.
double score_of_outputs(const Scorer& scorer, std::span<const Predictions> outputs);

std::span<const Scorer> scorers();
const Scorer* find_scorer(std::string_view name);   // null if there is none
std::vector<std::string> scorer_names();

}  // namespace kedge::engine
