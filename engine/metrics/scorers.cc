// The list of scorers: names of scikit-learn's get_scorer_names(), and four that it has as functions only.
#include "engine/metrics/scorers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/require.h"
#include "engine/metrics/classification.h"
#include "engine/metrics/cluster_shape.h"
#include "engine/metrics/clustering.h"
#include "engine/metrics/multilabel.h"
#include "engine/metrics/probability.h"
#include "engine/metrics/ranking.h"
#include "engine/metrics/regression.h"

namespace kedge::engine {
namespace {

using P = Predictions;
using Score = double (*)(const Predictions&);

// A scorer that was called without what it needs is a mistake of ours, not of the user.
void require_size(std::size_t actual, std::size_t expected, const char* name) {
  require(actual == expected && expected > 0, schema::ErrorCode::kInternal, "a scorer got {} numbers as {}, needs {}", actual, name,
          expected);
}

void require_weights(std::span<const double> weights, std::size_t n) {
  if (!weights.empty()) require_size(weights.size(), n, "weights");
}

LabelView labels(const P& p) {
  require_size(p.y_pred.size(), p.y_true.size(), "y_pred");
  require_weights(p.weights, p.y_true.size());
  return {p.y_true, p.y_pred, p.n_classes, p.weights};
}

ScoreView proba(const P& p) {
  require_size(p.proba.size(), p.y_true.size() * static_cast<std::size_t>(p.n_classes), "proba");
  require_weights(p.weights, p.y_true.size());
  return {p.y_true, p.proba, p.n_classes, p.weights};
}

ScoreView decision(const P& p) {
  if (p.decision.empty()) return proba(p);
  require_size(p.decision.size(), p.y_true.size() * static_cast<std::size_t>(p.n_classes == 2 ? 1 : p.n_classes), "decision");
  require_weights(p.weights, p.y_true.size());
  return {p.y_true, p.decision, p.n_classes, p.weights};
}

ValueView values(const P& p) {
  require_size(p.pred_values.size(), p.true_values.size(), "pred_values");
  require_weights(p.weights, p.true_values.size());
  return {p.true_values, p.pred_values, p.weights};
}

LabelPair clusters(const P& p) {
  require_size(p.y_pred.size(), p.y_true.size(), "y_pred");
  return {p.y_true, p.y_pred};
}

ClusterView shapes(const P& p) {
  require_size(p.X.size(), p.y_pred.size() * static_cast<std::size_t>(p.n_features), "X");
  return {p.X, p.n_features, p.y_pred};
}

constexpr Scorer of_labels(std::string_view name, Score score) {
  return {.name = name, .kind = ScorerKind::kClassification, .needs_labels = true, .score = score};
}
constexpr Scorer for_two(Scorer scorer) {
  scorer.two_classes_only = true;
  return scorer;
}
constexpr Scorer of_proba(std::string_view name, Score score) {
  return {.name = name, .kind = ScorerKind::kClassification, .needs_proba = true, .score = score};
}
constexpr Scorer of_decision(std::string_view name, Score score) {
  return {.name = name, .kind = ScorerKind::kClassification, .needs_decision = true, .score = score};
}
constexpr Scorer of_values(std::string_view name, Score score) {
  return {.name = name, .kind = ScorerKind::kRegression, .score = score};
}
constexpr Scorer of_clusters(std::string_view name, Score score) {
  return {.name = name, .kind = ScorerKind::kClustering, .needs_labels = true, .score = score};
}
constexpr Scorer of_shapes(std::string_view name, Score score) {
  return {.name = name, .kind = ScorerKind::kClustering, .needs_labels = true, .needs_X = true, .score = score};
}

using Columns = std::span<const Predictions>;

// Several columns: the mean of the scores of each.
double mean_score(const Scorer& scorer, Columns columns) {
  double sum = 0;
  for (const P& column : columns) sum += scorer.score(column);
  return sum / static_cast<double>(columns.size());
}

// Several columns are one answer a row, which is right where all are.
double score_of_all_right(const Scorer& scorer, Columns columns) {
  std::vector<std::int32_t> is_wrong(columns[0].y_true.size());
  for (const P& column : columns) {
    require_size(column.y_pred.size(), is_wrong.size(), "y_pred");
    for (std::size_t i = 0; i < is_wrong.size(); ++i) is_wrong[i] |= column.y_true[i] != column.y_pred[i] ? 1 : 0;
  }
  const std::vector<std::int32_t> all_right(is_wrong.size());
  return scorer.score({.y_true = all_right, .y_pred = is_wrong, .n_classes = 2});
}

void require_labels(const P& column) {
  require(column.n_classes == 2 && column.weights.empty(), schema::ErrorCode::kInternal,
          "a column of labels has {} classes and {} weights, must have 2 and none", column.n_classes,
          column.weights.size());
}

std::vector<LabelView> label_columns(Columns columns) {
  std::vector<LabelView> views;
  for (const P& column : columns) require_labels(column), views.push_back(labels(column));
  return views;
}

std::vector<ScoreView> score_columns(Columns columns) {
  std::vector<ScoreView> views;
  for (const P& column : columns) require_labels(column), views.push_back(decision(column));
  return views;
}

bool lacks_class(const P& column, std::int32_t code) {
  return std::ranges::find(column.y_true, code) == column.y_true.end();
}

bool lacks_label(const P& column) {
  return lacks_class(column, 1);
}

// `weighted`: columns weigh nothing where no row has a label.
std::string warning_of_one_class(Columns columns, bool weighted) {
  if (weighted && std::ranges::all_of(columns, lacks_label)) return "";
  const auto has_one = [](const P& column) { return lacks_label(column) || lacks_class(column, 0); };
  return std::ranges::any_of(columns, has_one) ? "the area of a column with one class is NaN" : "";
}

std::string warning_of_no_label(Columns columns) {
  return std::ranges::any_of(columns, lacks_label) ? "a column that no row has the label of counts 0" : "";
}

constexpr Scorer by_output(Scorer scorer) {
  scorer.score_columns = mean_score;
  return scorer;
}

template <LabelShare share, LabelAverage average>
constexpr Scorer shares(Scorer scorer) {
  scorer.columns_are_labels = true;
  scorer.score_columns = [](const Scorer&, Columns columns) {
    return multilabel_score(label_columns(columns), share, average);
  };
  scorer.warning_of_columns = [](Columns columns) -> std::string {
    const std::string where = undefined_shares(label_columns(columns), share, average);
    return where.empty() ? where : "is 0 " + where;
  };
  return scorer;
}

template <bool weighted>
constexpr Scorer areas(Scorer scorer) {
  scorer.columns_are_labels = true;
  scorer.score_columns = [](const Scorer&, Columns columns) {
    return multilabel_roc_auc(score_columns(columns), weighted);
  };
  scorer.warning_of_columns = [](Columns columns) { return warning_of_one_class(columns, weighted); };
  return scorer;
}

constexpr Scorer all_right(Scorer scorer) {
  scorer.score_columns = score_of_all_right;
  return scorer;
}

constexpr Scorer precisions_at_thresholds(Scorer scorer) {
  scorer.columns_are_labels = true;
  scorer.score_columns = [](const Scorer&, Columns columns) {
    return multilabel_average_precision(score_columns(columns));
  };
  scorer.warning_of_columns = warning_of_no_label;
  return scorer;
}

// Of one column: the score of its two classes.
template <auto score_labels>
double score_of_probabilities(const Scorer& scorer, Columns columns) {
  const std::vector<ScoreView> views = score_columns(columns);
  return columns.size() == 1 ? scorer.score(columns[0]) : score_labels(views);
}

std::string warning_of_sums(Columns columns) {
  return columns.size() > 1 && rows_sum_to_other_than_one(score_columns(columns))
             ? "the probabilities of a row do not sum to one"
             : "";
}

template <auto loss>
constexpr Scorer losses(Scorer scorer) {
  scorer.columns_are_labels = true;
  scorer.score_columns = score_of_probabilities<[](std::span<const ScoreView> columns) { return -loss(columns); }>;
  scorer.warning_of_columns = warning_of_sums;
  return scorer;
}

template <auto share>
constexpr Scorer explained(Scorer scorer) {
  scorer.columns_are_labels = true;
  scorer.score_columns = score_of_probabilities<share>;
  scorer.warning_of_columns = [](Columns columns) -> std::string {
    if (columns[0].y_true.size() < 2) return "is NaN for fewer than two rows";
    if (columns.size() > 1 && !std::isfinite(share(score_columns(columns))))
      return "the shares of the labels have no loss to compare with";
    return warning_of_sums(columns);
  };
  return scorer;
}
using enum LabelShare;
using enum LabelAverage;

constexpr std::array kScorers = {
    all_right(of_labels("accuracy", [](const P& p) { return accuracy_score(labels(p)); })),
    of_labels("balanced_accuracy", [](const P& p) { return balanced_accuracy_score(labels(p)); }),
    of_labels("cohen_kappa_score", [](const P& p) { return cohen_kappa_score(labels(p)); }),
    for_two(of_labels("f1", [](const P& p) { return f1_score(labels(p), Average::kBinary); })),
    shares<kF1, kMacro>(of_labels("f1_macro", [](const P& p) { return f1_score(labels(p), Average::kMacro); })),
    shares<kF1, kMicro>(of_labels("f1_micro", [](const P& p) { return f1_score(labels(p), Average::kMicro); })),
    shares<kF1, kSamples>(of_labels("f1_samples", nullptr)),
    shares<kF1, kWeighted>(
        of_labels("f1_weighted", [](const P& p) { return f1_score(labels(p), Average::kWeighted); })),
    for_two(of_labels("jaccard", [](const P& p) { return jaccard_score(labels(p), Average::kBinary); })),
    shares<kJaccard, kMacro>(
        of_labels("jaccard_macro", [](const P& p) { return jaccard_score(labels(p), Average::kMacro); })),
    shares<kJaccard, kMicro>(
        of_labels("jaccard_micro", [](const P& p) { return jaccard_score(labels(p), Average::kMicro); })),
    shares<kJaccard, kSamples>(of_labels("jaccard_samples", nullptr)),
    shares<kJaccard, kWeighted>(
        of_labels("jaccard_weighted", [](const P& p) { return jaccard_score(labels(p), Average::kWeighted); })),
    of_labels("matthews_corrcoef", [](const P& p) { return matthews_corrcoef(labels(p)); }),
    for_two(of_labels("neg_negative_likelihood_ratio",
                      [](const P& p) { return -class_likelihood_ratios(labels(p)).negative; })),
    for_two(
        of_labels("positive_likelihood_ratio", [](const P& p) { return class_likelihood_ratios(labels(p)).positive; })),
    for_two(of_labels("precision", [](const P& p) { return precision_score(labels(p), Average::kBinary); })),
    shares<kPrecision, kMacro>(
        of_labels("precision_macro", [](const P& p) { return precision_score(labels(p), Average::kMacro); })),
    shares<kPrecision, kMicro>(
        of_labels("precision_micro", [](const P& p) { return precision_score(labels(p), Average::kMicro); })),
    shares<kPrecision, kSamples>(of_labels("precision_samples", nullptr)),
    shares<kPrecision, kWeighted>(
        of_labels("precision_weighted", [](const P& p) { return precision_score(labels(p), Average::kWeighted); })),
    for_two(of_labels("recall", [](const P& p) { return recall_score(labels(p), Average::kBinary); })),
    shares<kRecall, kMacro>(
        of_labels("recall_macro", [](const P& p) { return recall_score(labels(p), Average::kMacro); })),
    shares<kRecall, kMicro>(
        of_labels("recall_micro", [](const P& p) { return recall_score(labels(p), Average::kMicro); })),
    shares<kRecall, kSamples>(of_labels("recall_samples", nullptr)),
    shares<kRecall, kWeighted>(
        of_labels("recall_weighted", [](const P& p) { return recall_score(labels(p), Average::kWeighted); })),

    explained<multilabel_d2_brier>(of_proba("d2_brier_score", [](const P& p) { return d2_brier_score(proba(p)); })),
    explained<multilabel_d2_log_loss>(
        of_proba("d2_log_loss_score", [](const P& p) { return d2_log_loss_score(proba(p)); })),
    losses<multilabel_brier_score_loss>(
        of_proba("neg_brier_score", [](const P& p) { return -brier_score_loss(proba(p)); })),
    losses<multilabel_log_loss>(of_proba("neg_log_loss", [](const P& p) { return -log_loss(proba(p)); })),
    areas<false>(of_proba("roc_auc_ovo", [](const P& p) { return roc_auc_ovo_score(proba(p), RocAverage::kMacro); })),
    areas<true>(of_proba("roc_auc_ovo_weighted",
                         [](const P& p) { return roc_auc_ovo_score(proba(p), RocAverage::kWeighted); })),
    areas<false>(of_proba("roc_auc_ovr", [](const P& p) { return roc_auc_ovr_score(proba(p), RocAverage::kMacro); })),
    areas<true>(of_proba("roc_auc_ovr_weighted",
                         [](const P& p) { return roc_auc_ovr_score(proba(p), RocAverage::kWeighted); })),

    precisions_at_thresholds(
        of_decision("average_precision", [](const P& p) { return average_precision_score(decision(p)); })),
    areas<false>(for_two(of_decision("roc_auc", [](const P& p) { return roc_auc_score(decision(p)); }))),
    of_decision("top_k_accuracy", [](const P& p) { return top_k_accuracy_score(decision(p)); }),

    by_output(of_values("d2_absolute_error_score", [](const P& p) { return d2_absolute_error_score(values(p)); })),
    by_output(of_values("explained_variance", [](const P& p) { return explained_variance_score(values(p)); })),
    of_values("neg_max_error", [](const P& p) { return -max_error(values(p)); }),
    by_output(of_values("neg_mean_absolute_error", [](const P& p) { return -mean_absolute_error(values(p)); })),
    by_output(of_values("neg_mean_absolute_percentage_error",
                        [](const P& p) { return -mean_absolute_percentage_error(values(p)); })),
    of_values("neg_mean_gamma_deviance", [](const P& p) { return -mean_gamma_deviance(values(p)); }),
    of_values("neg_mean_poisson_deviance", [](const P& p) { return -mean_poisson_deviance(values(p)); }),
    by_output(of_values("neg_mean_squared_error", [](const P& p) { return -mean_squared_error(values(p)); })),
    by_output(of_values("neg_mean_squared_log_error", [](const P& p) { return -mean_squared_log_error(values(p)); })),
    by_output(of_values("neg_median_absolute_error", [](const P& p) { return -median_absolute_error(values(p)); })),
    by_output(of_values("neg_root_mean_squared_error", [](const P& p) { return -root_mean_squared_error(values(p)); })),
    by_output(of_values("neg_root_mean_squared_log_error",
                        [](const P& p) { return -root_mean_squared_log_error(values(p)); })),
    by_output(of_values("r2", [](const P& p) { return r2_score(values(p)); })),

    of_clusters("adjusted_mutual_info_score", [](const P& p) { return adjusted_mutual_info_score(clusters(p)); }),
    of_clusters("adjusted_rand_score", [](const P& p) { return adjusted_rand_score(clusters(p)); }),
    of_clusters("completeness_score",
                [](const P& p) { return homogeneity_completeness_v_measure(clusters(p)).completeness; }),
    of_clusters("fowlkes_mallows_score", [](const P& p) { return fowlkes_mallows_score(clusters(p)); }),
    of_clusters("homogeneity_score",
                [](const P& p) { return homogeneity_completeness_v_measure(clusters(p)).homogeneity; }),
    of_clusters("mutual_info_score", [](const P& p) { return mutual_info_score(clusters(p)); }),
    of_clusters("normalized_mutual_info_score", [](const P& p) { return normalized_mutual_info_score(clusters(p)); }),
    of_clusters("rand_score", [](const P& p) { return rand_score(clusters(p)); }),
    of_clusters("v_measure_score",
                [](const P& p) { return homogeneity_completeness_v_measure(clusters(p)).v_measure; }),

    of_shapes("calinski_harabasz_score", [](const P& p) { return calinski_harabasz_score(shapes(p)); }),
    of_shapes("neg_davies_bouldin_score", [](const P& p) { return -davies_bouldin_score(shapes(p)); }),
    of_shapes("silhouette_score", [](const P& p) { return silhouette_score(shapes(p)); }),
};

}  // namespace

double score_of_outputs(const Scorer& scorer, std::span<const Predictions> outputs) {
  require(!outputs.empty() && scorer.score_columns, schema::ErrorCode::kInternal, "'{}' scores one target",
          scorer.name);
  return scorer.score_columns(scorer, outputs);
}

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
