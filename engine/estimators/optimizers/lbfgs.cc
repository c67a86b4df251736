// Limited-memory BFGS: two-loop recursion, Moré-Thuente line search, restart when it fails.
#include "engine/estimators/optimizers/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/estimators/optimizers/lbfgs_memory.h"
#include "engine/estimators/optimizers/line_search.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr double kLargestStep = 1e10;

struct Iterate {
  Vector x, gradient;
  double value = 0;
};

// Moves `at` along `direction` to an acceptable point. False, and `at` as it was, if none is found; `last` is the last value
// tried.
bool search_line(const Objective& objective, const Vector& direction, double first_step, int max_steps, Iterate& at,
                 double& last) {
  const double slope = dot(at.gradient, direction);
  if (!(slope < 0)) return false;
  LineSearch search(at.value, slope, first_step, kLargestStep);
  Iterate trial{at.x, Vector(at.x.size()), 0};
  for (int tries = 0; tries < max_steps; ++tries) {
    for (std::size_t i = 0; i < trial.x.size(); ++i) trial.x[i] = at.x[i] + search.step() * direction[i];
    trial.value = last = objective(trial.x, trial.gradient);
    if (search.update(trial.value, dot(trial.gradient, direction))) {
      at = std::move(trial);
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_same_value(double a, double b, double rounding) {
  return std::abs(a - b) <= rounding * std::max({std::abs(a), std::abs(b), 1.0});
}

LbfgsResult minimize_lbfgs(const Objective& objective, Vector x0, const LbfgsOptions& options,
                           const std::function<void(std::int64_t)>& on_iteration) {
  using Stop = LbfgsResult::Stop;
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  Iterate at{std::move(x0), {}, 0};
  at.gradient.resize(at.x.size());
  at.value = objective(at.x, at.gradient);
  const auto result = [&](std::int64_t iterations, Stop stop) {
    return LbfgsResult{std::move(at.x), at.value, largest_magnitude(at.gradient), iterations, stop};
  };
  if (largest_magnitude(at.gradient) <= options.gradient_tolerance) return result(0, Stop::kGradient);

  LbfgsMemory memory(options.memory);
  std::int64_t iteration = 0;
  while (iteration < options.max_iter) {
    const Vector direction = memory.direction(at.gradient);
    const double first_step = iteration == 0 ? std::min(1.0 / std::sqrt(dot(direction, direction)), kLargestStep) : 1.0;
    const Iterate before = at;
    double last = at.value;
    if (!search_line(objective, direction, first_step, options.max_line_steps, at, last)) {
      if (memory.empty())
        return result(iteration, is_same_value(last, at.value, options.value_rounding) ? Stop::kValue : Stop::kLineSearch);
      memory.clear();   // start again along the steepest descent
      continue;
    }
    on_iteration(++iteration);
    if (largest_magnitude(at.gradient) <= options.gradient_tolerance) return result(iteration, Stop::kGradient);
    const double size = std::max({std::abs(before.value), std::abs(at.value), 1.0});
    if (options.value_tolerance > 0 && before.value - at.value <= options.value_tolerance * size) return result(iteration, Stop::kValue);

    Vector step = at.x, change = at.gradient;
    add_scaled(-1, before.x, step), add_scaled(-1, before.gradient, change);
    const double product = dot(step, change);
    if (product > kEps * -dot(before.gradient, step)) memory.add(std::move(step), std::move(change), product);
  }
  return result(iteration, Stop::kMaxIter);
}

}  // namespace kedge::engine
