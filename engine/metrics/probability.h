// Scores of predicted probabilities, as the functions of the same names in sklearn.metrics (1.9), with labels = all classes, so that
// rows which lack a class still have their score (scikit-learn's scorers fail there).
#pragma once

#include "engine/metrics/views.h"

namespace kedge::engine {

// scores: n x n_classes probabilities. Errors of all: kBadData for a number outside [0, 1] (or NaN), naming its row, and for
// weights that sum to 0. Cost: one pass.

// Errors as above, for one number after the other, row by row.
void require_probabilities(const char* metric, const ScoreView& proba);
// log p, p clipped to [eps, 1 - eps], eps of double.
double clipped_log(double p);

// Mean negative log of the true class's probability, which is clipped to [eps, 1 - eps], eps of double.
double log_loss(const ScoreView& proba);
// Mean squared distance between the probabilities and the true class's unit vector; half of it for two classes.
double brier_score_loss(const ScoreView& proba);
// 1 - loss / loss of the class shares of y_true. NaN for fewer than two rows; the log loss of a single class is not quite 0 (it is
// clipped), the Brier score is, which gives -infinity or NaN.
double d2_log_loss_score(const ScoreView& proba);
double d2_brier_score(const ScoreView& proba);

// Share of the rows whose class has one of the k largest scores (probabilities or decision values); of equal scores the later class
// wins. Errors: kBadData for NaN.
double top_k_accuracy_score(const ScoreView& scores, std::int32_t k = 2);

}  // namespace kedge::engine
