// Tail probabilities of the F and the chi-squared distribution, for the p-values of tests.
#pragma once

namespace kedge::engine {

// P(F > f) with (between, within) degrees of freedom, both above 0; f >= 0. NaN gives NaN. Accurate to about 1e-13 relative.
double f_tail(double between, double within, double f);
// P(chi2 > x) with `freedom` degrees of freedom, above 0; x >= 0. NaN gives NaN.
double chi_squared_tail(double freedom, double x);

}  // namespace kedge::engine
