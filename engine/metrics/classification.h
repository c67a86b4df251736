// Scores of predicted classes, as the functions of the same names in sklearn.metrics (1.9), with labels = all classes.
// All take one pass over the rows. A share of nothing (no row predicted as the class, say) counts 0.
#pragma once

#include "engine/metrics/views.h"

namespace kedge::engine {

// Share of the weight whose class was predicted. Errors: kBadData if the weights sum to 0.
double accuracy_score(const LabelView& labels);
// Mean recall of the classes that occur in y_true; NaN if none has weight.
double balanced_accuracy_score(const LabelView& labels);

// kBinary: of class 1; errors: kInvalidValue for more than two classes. kMacro: mean over the classes that occur in y_true or y_pred.
// kWeighted: the same, weighted by y_true. kMicro: of all rows together.
enum class Average { kBinary, kMacro, kMicro, kWeighted };
double precision_score(const LabelView& labels, Average average);
double recall_score(const LabelView& labels, Average average);
double f1_score(const LabelView& labels, Average average);
double jaccard_score(const LabelView& labels, Average average);

// Matthews' correlation of all classes (Gorodkin's R_k); 0 where y_true or y_pred is constant.
double matthews_corrcoef(const LabelView& labels);

// What a confusion of classes a and b costs: 1, |a - b| or (a - b)^2.
enum class KappaWeights { kNone, kLinear, kQuadratic };
// Cohen's kappa; NaN where chance agrees fully (one class only). Cost: linear in rows; with weights also classes^2.
double cohen_kappa_score(const LabelView& labels, KappaWeights weights = KappaWeights::kNone);

// Likelihood ratios of class 1. The positive one is 1 without false positives, the negative one is 1 without true negatives
// (replace_undefined_by=1, as scikit-learn's scorers have it); NaN if class 1 does not occur. Errors: kInvalidValue for more than two
// classes.
struct LikelihoodRatios {
  double positive, negative;
};
LikelihoodRatios class_likelihood_ratios(const LabelView& labels);

}  // namespace kedge::engine
