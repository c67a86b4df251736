// L-BFGS, its line search, OWL-QN and Newton's method on functions with known minima.
#include "engine/estimators/optimizers/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/estimators/optimizers/line_search.h"
#include "engine/estimators/optimizers/newton.h"
#include "engine/estimators/optimizers/owlqn.h"

namespace kedge::engine {
namespace {

using Stop = LbfgsResult::Stop;

// sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2; minimum 0 at (1, ..., 1).
double rosenbrock(std::span<const double> x, std::span<double> g) {
  double value = 0;
  std::fill(g.begin(), g.end(), 0.0);
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    value += 100 * a * a + b * b;
    g[i] += -400 * a * x[i] - 2 * b;
    g[i + 1] += 200 * a;
  }
  return value;
}

double narrow_valley(std::span<const double> x, std::span<double> g) {
  g[0] = 2 * x[0], g[1] = 2e4 * x[1];
  return x[0] * x[0] + 1e4 * x[1] * x[1];
}

const auto kIgnore = [](std::int64_t) {};

// scipy.optimize.minimize(rosen, x0, jac=rosen_der, method="L-BFGS-B", options={"maxls": 50, "gtol": 1e-8, "ftol": 0}), SciPy 1.17.1.
TEST(Lbfgs, TakesAsManyIterationsAsScipy) {
  const LbfgsOptions options{.max_iter = 1000, .gradient_tolerance = 1e-8};
  const LbfgsResult two = minimize_lbfgs(rosenbrock, {-1.2, 1.0}, options, kIgnore);
  EXPECT_EQ(two.stop, Stop::kGradient);
  EXPECT_EQ(two.iterations, 38);
  EXPECT_NEAR(two.x[0], 1, 1e-8);
  const LbfgsResult ten = minimize_lbfgs(rosenbrock, std::vector<double>(10, -1.2), options, kIgnore);
  EXPECT_EQ(ten.iterations, 75);
}

TEST(Lbfgs, StopsAtOnceWhereTheGradientVanishes) {
  const LbfgsResult result = minimize_lbfgs(rosenbrock, {1.0, 1.0}, {}, kIgnore);
  EXPECT_EQ(result.stop, Stop::kGradient);
  EXPECT_EQ(result.iterations, 0);
}

TEST(Lbfgs, StopsAtTheIterationLimit) {
  std::int64_t reported = 0;
  const LbfgsResult result = minimize_lbfgs(rosenbrock, {-1.2, 1.0}, {.max_iter = 3, .gradient_tolerance = 0},
                                            [&](std::int64_t done) { reported = done; });
  EXPECT_EQ(result.stop, Stop::kMaxIter);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_EQ(reported, 3);
}

TEST(Lbfgs, StopsWhenTheValueStopsFalling) {
  const LbfgsResult result =
      minimize_lbfgs(narrow_valley, {3.0, 1.0}, {.max_iter = 100, .gradient_tolerance = 0, .value_tolerance = 1e-10}, kIgnore);
  EXPECT_EQ(result.stop, Stop::kValue);
  EXPECT_NEAR(result.value, 0, 1e-6);
}

TEST(Lbfgs, SaysWhenTheLineSearchFindsNoStep) {
  const Objective cliff = [](std::span<const double> x, std::span<double> g) {   // not a number away from the start
    g[0] = 1;
    return x[0] == 1.0 ? 1.0 : std::nan("");
  };
  const LbfgsResult result = minimize_lbfgs(cliff, {1.0}, {}, kIgnore);
  EXPECT_EQ(result.stop, Stop::kLineSearch);
  EXPECT_EQ(result.x[0], 1.0);
}

TEST(LineSearch, MeetsTheStrongWolfeConditions) {
  const auto value = [](double t) { return -t / (t * t + 2); };   // Moré and Thuente's first test function
  const auto slope = [](double t) { return (t * t - 2) / ((t * t + 2) * (t * t + 2)); };
  for (const double first : {1e-3, 1e-1, 1e1, 1e3}) {
    LineSearch search(value(0), slope(0), first, 1e10);
    int tries = 1;
    while (!search.update(value(search.step()), slope(search.step()))) ASSERT_LT(++tries, 20);
    EXPECT_LE(value(search.step()), value(0) + 1e-3 * search.step() * slope(0));
    EXPECT_LE(std::abs(slope(search.step())), 0.9 * std::abs(slope(0)));
  }
}

// sum of (x[i] - target[i])^2 / 2 with a coupling of neighbours.
double coupled(std::span<const double> x, std::span<double> g) {
  const double target[4] = {3, -2, 0.1, 1};
  double value = 0;
  std::fill(g.begin(), g.end(), 0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    const double next = i + 1 < 4 ? x[i + 1] : 0.0, miss = x[i] - target[i], coupling = x[i] - next;
    value += 0.5 * miss * miss + 0.25 * coupling * coupling;
    g[i] += miss + 0.5 * coupling;
    if (i + 1 < 4) g[i + 1] -= 0.5 * coupling;
  }
  return value;
}

// Minimum with the L1 term 0.6 (|x0| + |x1|) + |x2|, by the optimality conditions: x2 = 0, and 1.5 x0 - 0.5 x1 = 2.4,
// 2 x1 - 0.5 x0 = -1.4, 2 x3 = 1.
constexpr double kFirst = (2.4 * 2 - 0.5 * 1.4) / 2.75, kSecond = (0.5 * kFirst - 1.4) / 2, kFourth = 0.5;

void expect_sparse_minimum(const std::vector<double>& x) {
  EXPECT_NEAR(x[0], kFirst, 1e-9);
  EXPECT_NEAR(x[1], kSecond, 1e-9);
  EXPECT_EQ(x[2], 0.0);
  EXPECT_NEAR(x[3], kFourth, 1e-9);
}

TEST(Owlqn, FindsTheSparseMinimum) {
  const LbfgsResult result = minimize_owlqn(coupled, {0.6, 0.6, 1, 0}, {0, 0, 5, 0}, {.max_iter = 200, .gradient_tolerance = 1e-11}, kIgnore);
  EXPECT_EQ(result.stop, Stop::kGradient);
  expect_sparse_minimum(result.x);
}

TEST(Newton, FindsTheSparseMinimumInFewSteps) {
  NewtonProblem problem{.objective = coupled, .curvature = {}, .solve = {}, .l1 = {0.6, 0.6, 1, 0}};
  problem.curvature = [](std::span<const double>, std::span<double> h) {
    std::fill(h.begin(), h.end(), 0.0);
    for (int i = 0; i < 4; ++i) {
      h[i * 5] = i == 0 ? 1.5 : 2.0;
      if (i < 3) h[i * 4 + i + 1] = h[(i + 1) * 4 + i] = -0.5;
    }
  };
  const NewtonResult result = minimize_newton(problem, {0, 0, 5, 0}, {.gradient_tolerance = 1e-11}, kIgnore);
  EXPECT_EQ(result.stop, NewtonResult::Stop::kConverged);
  EXPECT_LE(result.iterations, 6);
  expect_sparse_minimum(result.x);
}

TEST(Newton, SaysWhenTheMatrixCannotBeInverted) {
  NewtonProblem problem{.objective = coupled, .curvature = [](std::span<const double>, std::span<double>) {},
                        .solve = [](std::vector<double>&, std::vector<double>&) { return false; }, .l1 = {}};
  EXPECT_EQ(minimize_newton(problem, {1, 1, 1, 1}, {}, kIgnore).stop, NewtonResult::Stop::kSingular);
}

}  // namespace
}  // namespace kedge::engine
