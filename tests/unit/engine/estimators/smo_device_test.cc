// Working sets that a device chooses and solves itself: the bits of the host's solver on the same kernel values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/svm/smo_device.h"
#include "engine/estimators/svm/smo_solver.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kCols = 4;
constexpr double kTol = 1e-3;

struct Rows {
  std::int64_t n;
  std::vector<double> X = {}, target = {};   // in a cube, the last ones twice; a curved function with noise
};
Rows curved_rows(std::int64_t n) {
  Rows made{.n = n};
  PhiloxStream random(5, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0.4 * random.uniform();
    for (std::int64_t j = 0; j < kCols; ++j) {
      const bool is_copy = i + 40 > n;
      made.X.push_back(is_copy ? made.X[static_cast<std::size_t>((i - 50) * kCols + j)] : random.uniform());
      sum += (j % 2 ? 1 : -1) * made.X.back() * made.X.back();
    }
    made.target.push_back(sum);
  }
  return made;
}

enum class Kind { kClasses, kNuClasses, kValues, kNuValues, kOneClass };

void start_by_sign(SmoProblem& problem, double nu) {
  double left[2] = {0, 0};
  for (std::size_t t = 0; t < problem.size(); ++t) left[problem.y[t] > 0 ? 0 : 1] += nu * problem.C[t];
  left[0] = left[1] = std::min(left[0], left[1]);
  for (std::size_t t = 0; t < problem.size(); ++t) {
    double& of_sign = left[problem.y[t] > 0 ? 0 : 1];
    problem.alpha[t] = std::min(problem.C[t], of_sign);
    of_sign -= problem.alpha[t];
  }
}

// With weights, some of which are 0.
SmoProblem problem_of(Kind kind, const Rows& rows, double C) {
  const bool of_values = kind == Kind::kValues || kind == Kind::kNuValues;
  SmoProblem made{.ranges = {{0, rows.n}}, .by_sign = kind == Kind::kNuClasses || kind == Kind::kNuValues};
  for (const int sign : {1, -1})
    for (std::int64_t i = 0; i < rows.n && (sign > 0 || of_values); ++i) {
      const double target = rows.target[static_cast<std::size_t>(i)];
      const int of_class = target > 0.2 ? 1 : -1, y = of_values ? sign : (kind == Kind::kOneClass ? 1 : of_class);
      made.row.push_back(static_cast<std::int32_t>(i)), made.y.push_back(static_cast<signed char>(y));
      made.C.push_back(i % 17 == 3 ? 0 : C * static_cast<double>(1 + i % 3));
      made.offset.push_back(of_values ? target - sign * 0.05 : (kind == Kind::kClasses ? y : 0));
    }
  made.alpha.resize(made.size());
  if (made.by_sign) start_by_sign(made, 0.2);
  double left = 0.1 * C * static_cast<double>(rows.n);
  for (std::size_t t = 0; kind == Kind::kOneClass && t < made.size(); ++t)
    left -= made.alpha[t] = std::min(left, made.C[t]);
  return made;
}

struct Case {
  Kind kind = Kind::kClasses;
  KernelChoice kernel = {.name = "rbf", .gamma = 2};
  double C = 1, tol = kTol;
  std::int64_t max_iter = -1, n = 2100, cache_bytes = std::int64_t{1} << 30;
};

struct Both {
  SmoResult host, device;
  SmoProblem problem;
};

Both solved(const Case& of) {
  const Context ctx{.device = testing::device_named("emulated")};
  const Rows rows = curved_rows(of.n);
  const Matrix<double> X(ctx.memory(), of.n, kCols, rows.X);
  Both both{.problem = problem_of(of.kind, rows, of.C)};
  const SmoOptions options{.tol = of.tol, .max_iter = of.max_iter};
  KernelRows on_host(ctx, of.kernel, X.view(), of.tol, of.cache_bytes, kSmoSet);
  DeviceRows on_device(ctx, *support_vector_ops(ctx.device), of.kernel, X.view(), of.tol, of.cache_bytes);
  both.host = solve_smo(on_host, both.problem, options), both.device = solve_smo(on_device, both.problem, options);
  return both;
}

void expect_same(const Case& of) {
  const Both both = solved(of);
  EXPECT_GT(both.device.n_iter, 0);
  EXPECT_EQ(both.device.n_iter, both.host.n_iter);
  EXPECT_EQ(both.device.alpha == both.host.alpha, true) << "other multipliers";
  EXPECT_EQ(both.device.values == both.host.values, true) << "other values";
  EXPECT_EQ(both.device.threshold[0], both.host.threshold[0]);
  EXPECT_EQ(both.device.threshold[1], both.host.threshold[1]);
  EXPECT_EQ(both.device.gap, both.host.gap);
  EXPECT_EQ(both.device.objective, both.host.objective);
  EXPECT_EQ(both.device.has_converged, both.host.has_converged);
  EXPECT_EQ(both.device.is_indefinite, both.host.is_indefinite);
}

TEST(SmoDevice, GivesTheHostsBitsForClasses) {
  expect_same({});
}

TEST(SmoDevice, GivesTheHostsBitsForBothSumsOfClasses) {
  expect_same({.kind = Kind::kNuClasses});
}

TEST(SmoDevice, GivesTheHostsBitsForTwoMultipliersARow) {
  expect_same({.kind = Kind::kValues, .max_iter = 1000, .n = 1100});
}

TEST(SmoDevice, GivesTheHostsBitsForBothSumsOfValues) {
  expect_same({.kind = Kind::kNuValues, .max_iter = 1000, .n = 1100});
}

TEST(SmoDevice, GivesTheHostsBitsForOneClass) {
  expect_same({.kind = Kind::kOneClass});
}

TEST(SmoDevice, GivesTheHostsBitsForEveryKernel) {
  expect_same({.kernel = {.name = "linear"}, .C = 0.1, .tol = 0.2});
  expect_same({.kernel = {.name = "poly", .gamma = 0.5, .coef0 = 1, .degree = 2}, .C = 0.1, .tol = 0.2});
  expect_same({.kernel = {.name = "sigmoid", .gamma = 0.5, .coef0 = 0.1}, .C = 0.1, .tol = 0.2});   // not positive
}

TEST(SmoDevice, GivesTheHostsBitsWhereFreeMultipliersMoveTogether) {
  expect_same({.C = 1000, .max_iter = 1200});
}

TEST(SmoDevice, GivesTheHostsBitsInDouble) {   // float would be too coarse for tol
  expect_same({.kernel = {.name = "rbf", .gamma = 60}, .tol = 1e-4, .max_iter = 400});
}

TEST(SmoDevice, GivesTheHostsBitsWithASmallCache) {
  expect_same({.max_iter = 1500, .cache_bytes = 1});
}

TEST(SmoDevice, EndsAtTheMostSteps) {
  for (const std::int64_t most : {0, 1, 200}) {
    const Both both = solved({.max_iter = most});
    EXPECT_EQ(both.device.n_iter, most);
    EXPECT_FALSE(both.device.has_converged);
    EXPECT_EQ(both.device.alpha == both.host.alpha, true) << most;
  }
}

TEST(SmoDevice, FindsNothingToDoWhereNoPairViolates) {
  const Both both = solved({.tol = 3});
  EXPECT_EQ(both.device.n_iter, 0);
  EXPECT_TRUE(both.device.has_converged);
}

TEST(SmoDevice, EndsWhenTheJobIsCancelled) {
  std::stop_source stop;
  const Context ctx{.device = testing::device_named("emulated"), .stop = stop.get_token()};
  const Rows rows = curved_rows(2100);
  const Matrix<double> X(ctx.memory(), rows.n, kCols, rows.X);
  DeviceRows kernel(ctx, *support_vector_ops(ctx.device), {.name = "rbf", .gamma = 2}, X.view(), kTol, 1);
  stop.request_stop();
  EXPECT_THROW(solve_smo(kernel, problem_of(Kind::kClasses, rows, 1), {}), schema::Error);
}

TEST(DeviceRows, KeepTheRowsThatWereUsedLast) {
  const Context ctx{.device = testing::device_named("emulated")};
  const Rows rows = curved_rows(1100);
  const Matrix<double> X(ctx.memory(), rows.n, kCols, rows.X);
  DeviceRows kernel(ctx, *support_vector_ops(ctx.device), {.name = "linear"}, X.view(), 1, 1);
  EXPECT_EQ(kernel.kept().rows, 2 * kSmoSet);
  const auto from = [](std::int32_t first, std::int32_t count) {
    std::vector<std::int32_t> some;
    for (std::int32_t i = 0; i < count; ++i) some.push_back(first + i);
    return some;
  };
  const std::vector<std::int32_t> first = kernel.load(from(0, 500)), second = kernel.load(from(500, 500));
  EXPECT_EQ(kernel.load(from(0, 500)), first);   // now the last used
  kernel.load(from(1000, 100));                  // takes 24 free places, and 76 of the second ones
  EXPECT_EQ(kernel.load(from(0, 500)), first);
  EXPECT_EQ(kernel.load(from(576, 424)), std::vector<std::int32_t>(second.begin() + 76, second.end()));
}

TEST(SmoDevice, FetchesNoKernelRows) {
  Device& device = testing::device_named("emulated");
  const auto& memory = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(device.memory()).stream())->memory;
  const Context ctx{.device = device};
  const Rows rows = curved_rows(2100);
  const Matrix<double> X(ctx.memory(), rows.n, kCols, rows.X);
  DeviceRows kernel(ctx, *support_vector_ops(device), {.name = "rbf", .gamma = 2}, X.view(), 0.1, 1 << 30);
  const std::int64_t bytes = memory.bytes_to_host, waits = memory.syncs;
  const SmoProblem problem = problem_of(Kind::kClasses, rows, 1);
  const SmoResult result = solve_smo(kernel, problem, {.tol = 0.1});
  EXPECT_TRUE(result.has_converged);
  constexpr std::int64_t kMostSets = 30, kReport = 8192;
  EXPECT_LE(memory.syncs - waits, kMostSets);
  EXPECT_LE(memory.bytes_to_host - bytes, kMostSets * kReport + 2 * rows.n * static_cast<std::int64_t>(sizeof(double)));
  const SmoResult again = solve_smo(kernel, problem, {.tol = 0.1});
  EXPECT_EQ(again.alpha == result.alpha, true) << "rows that were kept give other bits";
}

// Through the estimators: within tol of what the CPU finds by its own kernel values.
TEST(SmoDevice, FitsWhatTheCpuFits) {
  const testing::Data data = testing::make_data(2100, 3, 2);
  for (const char* const name : {"SVC", "SVR", "OneClassSVM"}) {
    std::vector<double> objectives;
    for (const char* const device : {"cpu", "emulated"}) {
      const Context ctx{.device = testing::device_named(device)};
      const testing::Loaded<double> loaded(ctx.device, data);
      const auto estimator = find_estimator(name)->make_f64({{"tol", 0.05}, {"max_iter", std::int64_t{2000}}});
      estimator->fit(ctx, loaded.all(), loaded.target());
      for (const auto& [key, value] : estimator->attributes()) {
        if (key != "dual_objective_") continue;
        const auto* const list = std::get_if<std::vector<double>>(&value.data);
        objectives.push_back(list ? list->at(0) : std::get<double>(value.data));
      }
    }
    ASSERT_EQ(objectives.size(), 2U);
    EXPECT_NEAR(objectives[1], objectives[0], 0.02 * std::abs(objectives[0])) << name;
  }
}

}   // namespace
}   // namespace kedge::engine
