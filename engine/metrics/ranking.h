// Curves and areas of rankings by score, as the functions of the same names in sklearn.metrics (1.9).
// Cost: a sort of the scores. Errors of all: kBadData for a score that is NaN, naming its row. Rows of weight 0 are left out.
#pragma once

#include <vector>

#include "engine/metrics/views.h"

namespace kedge::engine {

// Two classes; ScoreView::scores of n or n x 2. thresholds fall; thresholds[0] is infinity, where nothing is predicted as class 1.
// A rate of a class that does not occur is NaN. drop_intermediate leaves out points that lie on a line between their neighbours.
struct RocCurve {
  std::vector<double> fpr, tpr, thresholds;
};
RocCurve roc_curve(const ScoreView& scores, bool drop_intermediate = true);

// thresholds rise; precision and recall have one value more, 1 and 0. Without rows of class 1 recall is 1 at every threshold.
// drop_intermediate leaves out thresholds between which recall does not change.
struct PrecisionRecallCurve {
  std::vector<double> precision, recall, thresholds;
};
PrecisionRecallCurve precision_recall_curve(const ScoreView& scores, bool drop_intermediate = false);

// Area under the ROC curve of two classes; NaN if y_true has one only. Errors: kInvalidValue for more than two classes.
double roc_auc_score(const ScoreView& scores);

// kMacro: all classes (or pairs) count the same. kWeighted: as often as they occur.
enum class RocAverage { kMacro, kWeighted };
// One class against the rest. proba: n x n_classes, rows sum to 1 (else kBadData); with two classes as roc_auc_score. The macro mean
// is NaN if a class does not occur, the weighted mean leaves such a class out.
double roc_auc_ovr_score(const ScoreView& proba, RocAverage average);
// Every pair of classes that occur; NaN if one only does. Cost: a sort of its rows for each pair. Errors: kInvalidValue with weights
// and more than two classes.
double roc_auc_ovo_score(const ScoreView& proba, RocAverage average);

// Sum over thresholds of precision times gained recall; 0 without rows of class 1. More than two classes: the mean of each class
// against the rest, NaN if one does not occur (scikit-learn refuses that).
double average_precision_score(const ScoreView& scores);

}  // namespace kedge::engine
