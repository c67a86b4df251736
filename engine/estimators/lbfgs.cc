// Limited-memory BFGS: two-loop recursion, Moré-Thuente line search, restart when it fails.
#include "engine/estimators/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "engine/estimators/line_search.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr double kLargestStep = 1e10;

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

double largest(const Vector& v) {
  double m = 0;
  for (const double e : v) m = std::max(m, std::abs(e));
  return m;
}

void add_scaled(double factor, const Vector& v, Vector& to) {
  for (std::size_t i = 0; i < v.size(); ++i) to[i] += factor * v[i];
}

// The last steps and gradient changes, and the direction that they give.
class Memory {
 public:
  explicit Memory(int capacity) : capacity_(static_cast<std::size_t>(capacity)) {}
  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }

  void add(Vector step, Vector change, double product) {
    if (pairs_.size() == capacity_) pairs_.pop_front();
    scale_ = product / dot(change, change);
    pairs_.push_back({std::move(step), std::move(change), product});
  }

  // -H gradient, by the two-loop recursion.
  Vector direction(const Vector& gradient) const {
    Vector d = gradient;
    Vector alpha(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      alpha[i] = dot(pairs_[i].step, d) / pairs_[i].product;
      add_scaled(-alpha[i], pairs_[i].change, d);
    }
    const double factor = pairs_.empty() ? 1.0 : scale_;
    for (double& e : d) e *= factor;
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      add_scaled(alpha[i] - dot(pairs_[i].change, d) / pairs_[i].product, pairs_[i].step, d);
    for (double& e : d) e = -e;
    return d;
  }

 private:
  struct Pair {
    Vector step, change;
    double product;
  };
  std::size_t capacity_;
  double scale_ = 1;
  std::deque<Pair> pairs_;
};

struct Iterate {
  Vector x, gradient;
  double value = 0;
};

// Moves `at` along `direction` to an acceptable point. False, and `at` as it was, if none is found.
bool search_line(const Objective& objective, const Vector& direction, double first_step, int max_steps, Iterate& at) {
  const double slope = dot(at.gradient, direction);
  if (!(slope < 0)) return false;
  LineSearch search(at.value, slope, first_step, kLargestStep);
  Iterate trial{at.x, Vector(at.x.size()), 0};
  for (int tries = 0; tries < max_steps; ++tries) {
    for (std::size_t i = 0; i < trial.x.size(); ++i) trial.x[i] = at.x[i] + search.step() * direction[i];
    trial.value = objective(trial.x, trial.gradient);
    if (search.update(trial.value, dot(trial.gradient, direction))) {
      at = std::move(trial);
      return true;
    }
  }
  return false;
}

}  // namespace

LbfgsResult minimize_lbfgs(const Objective& objective, Vector x0, const LbfgsOptions& options,
                           const std::function<void(std::int64_t)>& on_iteration) {
  using Stop = LbfgsResult::Stop;
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  Iterate at{std::move(x0), {}, 0};
  at.gradient.resize(at.x.size());
  at.value = objective(at.x, at.gradient);
  const auto result = [&](std::int64_t iterations, Stop stop) {
    return LbfgsResult{std::move(at.x), at.value, iterations, stop};
  };
  if (largest(at.gradient) <= options.gradient_tolerance) return result(0, Stop::kGradient);

  Memory memory(options.memory);
  std::int64_t iteration = 0;
  while (iteration < options.max_iter) {
    const Vector direction = memory.direction(at.gradient);
    const double first_step = iteration == 0 ? std::min(1.0 / std::sqrt(dot(direction, direction)), kLargestStep) : 1.0;
    const Iterate before = at;
    if (!search_line(objective, direction, first_step, options.max_line_steps, at)) {
      if (memory.empty()) return result(iteration, Stop::kLineSearch);
      memory.clear();   // start again along the steepest descent
      continue;
    }
    on_iteration(++iteration);
    if (largest(at.gradient) <= options.gradient_tolerance) return result(iteration, Stop::kGradient);
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
