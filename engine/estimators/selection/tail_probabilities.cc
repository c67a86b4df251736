// Incomplete beta and gamma functions of Boost.Math.
#include "engine/estimators/selection/tail_probabilities.h"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace kedge::engine {
namespace {

// In doubles alone, and a value where the library would throw.
namespace policies = boost::math::policies;
using Policy = policies::policy<policies::promote_double<false>, policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
                                policies::overflow_error<policies::ignore_error>, policies::underflow_error<policies::ignore_error>,
                                policies::evaluation_error<policies::ignore_error>>;

}  // namespace

double f_tail(double between, double within, double f) {
  if (std::isnan(f)) return f;
  if (std::isinf(f)) return 0;
  const double total = within + between * f, x = within / total, y = between * f / total;   // y is 1 - x: the smaller has all its digits
  return x < y ? boost::math::ibeta(within / 2, between / 2, x, Policy()) : boost::math::ibetac(between / 2, within / 2, y, Policy());
}

double chi_squared_tail(double freedom, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  return boost::math::gamma_q(freedom / 2, x / 2, Policy());
}

}  // namespace kedge::engine
