// Scores of predicted values, as the functions of the same names in sklearn.metrics (1.9), for one output.
// Errors of all: kBadData for values that are not finite, naming the row, and for weights that sum to 0. Cost: linear, but a sort
// for weighted medians.
#pragma once

#include "engine/metrics/views.h"

namespace kedge::engine {

// 1 - residual / total sum of squares. NaN for fewer than two rows; constant y_true gives 1 if it is met exactly,
// otherwise 0.
double r2_score(const ValueView& values);
// The same with the variance of the residuals: a constant error costs nothing. Defined for one row too.
double explained_variance_score(const ValueView& values);

double mean_squared_error(const ValueView& values);
double root_mean_squared_error(const ValueView& values);
double mean_absolute_error(const ValueView& values);
double median_absolute_error(const ValueView& values);
// |error| / max(|y_true|, eps of double).
double mean_absolute_percentage_error(const ValueView& values);
// Of log(1 + y). Errors: kBadData for values of -1 or less.
double mean_squared_log_error(const ValueView& values);
double root_mean_squared_log_error(const ValueView& values);
// Weights have no part in it.
double max_error(const ValueView& values);

// Errors: kBadData unless y_true >= 0 (Poisson) or > 0 (gamma), and y_pred > 0.
double mean_poisson_deviance(const ValueView& values);
double mean_gamma_deviance(const ValueView& values);

// 1 - mean absolute error / that of the median of y_true. NaN for fewer than two rows; constant y_true as in r2_score.
double d2_absolute_error_score(const ValueView& values);

}  // namespace kedge::engine
