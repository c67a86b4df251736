// Orthant-wise limited-memory quasi-Newton: a step stays in the orthant that the subgradient points into.
#include "engine/estimators/optimizers/owlqn.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/estimators/optimizers/lbfgs_memory.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr double kSufficient = 1e-4;  // share of the predicted decrease that a step must bring

struct Iterate {
  Vector x, gradient;
  double value = 0;  // with the L1 term
};

// Components that would leave the orthant of steepest descent are dropped.
void align(const Vector& l1, const Vector& subgradient, Vector& direction) {
  for (std::size_t i = 0; i < l1.size(); ++i)
    if (l1[i] > 0 && direction[i] * subgradient[i] >= 0) direction[i] = 0;
}

// x + step * direction; what would change its sign becomes 0.
Vector projected(const Vector& l1, const Vector& x, const Vector& direction, const Vector& subgradient, double step) {
  Vector next(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    next[i] = x[i] + step * direction[i];
    const double orthant = x[i] != 0 ? x[i] : -subgradient[i];
    if (l1[i] > 0 && next[i] * orthant <= 0) next[i] = 0;
  }
  return next;
}

// Moves `at` to an acceptable point along the projected direction. False, and `at` as it was, if none is found; `last` is the
// last value tried.
bool search(const Objective& objective, const Vector& l1, const Vector& direction, const Vector& subgradient, double step,
            int max_steps, Iterate& at, double& last) {
  constexpr double kRounding = 4e-15;
  for (int tries = 0; tries < max_steps; ++tries, step /= 2) {
    Iterate trial{projected(l1, at.x, direction, subgradient, step), Vector(at.x.size()), 0};
    trial.value = last = objective(trial.x, trial.gradient) + l1_norm(l1, trial.x);
    double predicted = 0;
    for (std::size_t i = 0; i < at.x.size(); ++i) predicted += subgradient[i] * (trial.x[i] - at.x[i]);
    if (trial.value <= at.value + kSufficient * predicted + kRounding * std::abs(at.value) && trial.x != at.x) {
      at = std::move(trial);
      return true;
    }
  }
  return false;
}

}  // namespace

double l1_norm(const Vector& l1, const Vector& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += l1[i] * std::abs(x[i]);
  return sum;
}

Vector smallest_subgradient(const Vector& l1, const Vector& x, const Vector& gradient) {
  Vector g = gradient;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (x[i] != 0)
      g[i] += x[i] > 0 ? l1[i] : -l1[i];
    else
      g[i] = g[i] > l1[i] ? g[i] - l1[i] : g[i] < -l1[i] ? g[i] + l1[i] : 0.0;
  }
  return g;
}

LbfgsResult minimize_owlqn(const Objective& objective, const Vector& l1, Vector x0, const LbfgsOptions& options,
                           const std::function<void(std::int64_t)>& on_iteration) {
  using Stop = LbfgsResult::Stop;
  Iterate at{std::move(x0), {}, 0};
  at.gradient.resize(at.x.size());
  at.value = objective(at.x, at.gradient) + l1_norm(l1, at.x);
  LbfgsMemory memory(options.memory);
  std::int64_t iteration = 0;
  const auto result = [&](Stop stop) {
    const double gradient = largest_magnitude(smallest_subgradient(l1, at.x, at.gradient));
    return LbfgsResult{std::move(at.x), at.value, gradient, iteration, stop};
  };
  while (true) {
    const Vector subgradient = smallest_subgradient(l1, at.x, at.gradient);
    if (largest_magnitude(subgradient) <= options.gradient_tolerance) return result(Stop::kGradient);
    if (iteration >= options.max_iter) return result(Stop::kMaxIter);
    Vector direction = memory.direction(subgradient);
    align(l1, subgradient, direction);
    const double first_step = memory.empty() ? 1 / std::sqrt(dot(direction, direction)) : 1.0;
    const Iterate before = at;
    double last = at.value;
    if (!search(objective, l1, direction, subgradient, first_step, options.max_line_steps, at, last)) {
      if (memory.empty()) return result(is_same_value(last, at.value, options.value_rounding) ? Stop::kValue : Stop::kLineSearch);
      memory.clear();  // start again along the steepest descent
      continue;
    }
    on_iteration(++iteration);
    const double size = std::max({std::abs(before.value), std::abs(at.value), 1.0});
    if (options.value_tolerance > 0 && before.value - at.value <= options.value_tolerance * size) return result(Stop::kValue);
    Vector step = at.x, change = at.gradient;
    add_scaled(-1, before.x, step), add_scaled(-1, before.gradient, change);
    const double product = dot(step, change);
    if (product > 1e-16 * dot(change, change)) memory.add(std::move(step), std::move(change), product);
  }
}

}  // namespace kedge::engine
