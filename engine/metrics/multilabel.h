// Scores of labels in several columns, as scikit-learn (1.9) has them for indicators: each column says of each row
// whether it has the label (code 1) or not (code 0).
#pragma once

#include <span>
#include <string>

#include "engine/metrics/views.h"

namespace kedge::engine {

// What is divided: precision, the rows that have the label and were said to, by those that were said to; recall, by
// those that have it; F1, twice them by the sum of both; Jaccard, by the rows that are in either. A share of nothing
// is 0.
enum class LabelShare { kPrecision, kRecall, kF1, kJaccard };

// kMacro: the mean over the columns. kWeighted: the same, weighted by how many rows have the label; the plain mean
// where none has one. kMicro: of all cells together. kSamples: of the labels of each row, the mean over the rows.
enum class LabelAverage { kMacro, kMicro, kWeighted, kSamples };

// All columns: LabelView::n_classes is 2, the same rows, at least one, no weights. Time linear in the cells; the same
// bits on any number of threads.
double multilabel_score(std::span<const LabelView> columns, LabelShare share, LabelAverage average);

// Where a share is one of nothing: "in labels with no predicted samples" and the like, as scikit-learn says it. Empty
// where each has a whole.
std::string undefined_shares(std::span<const LabelView> columns, LabelShare share, LabelAverage average);

// Means over the columns of roc_auc_score and average_precision_score (ranking.h). `weighted`: by how many rows have
// the label, so that a column without one has no part; 0 where no row has any. Otherwise NaN where a column has one
// class.
double multilabel_roc_auc(std::span<const ScoreView> columns, bool weighted);
double multilabel_average_precision(std::span<const ScoreView> columns);

// Means over the rows, of the probabilities p of the labels, clipped as in probability.h: log loss, the sum of -log p
// over the labels that a row has; Brier score, the sum of (label - p)^2 over all columns, halved below three columns.
// Neither asks that the p of a row sum to 1, but both are meant for that.
double multilabel_log_loss(std::span<const ScoreView> columns);
double multilabel_brier_score_loss(std::span<const ScoreView> columns);

// 1 - loss / loss of the share of rows that have each label. NaN for fewer than two rows. Where that loss is 0 (a log
// loss without labels, a Brier score of columns with one class each): NaN, or -infinity for a Brier score above 0.
double multilabel_d2_log_loss(std::span<const ScoreView> columns);
double multilabel_d2_brier(std::span<const ScoreView> columns);

// Whether the p of some row do not sum to 1, to 8 digits.
bool rows_sum_to_other_than_one(std::span<const ScoreView> columns);

}   // namespace kedge::engine
