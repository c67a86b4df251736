// Support vector machines from inside: kernel rows, steps, working sets, duality gaps, and Platt's sigmoid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/svm/free_step.h"
#include "engine/estimators/svm/kernel_rows.h"
#include "engine/estimators/svm/platt.h"
#include "engine/estimators/svm/shared_kernel.h"
#include "engine/estimators/svm/smo_block.h"
#include "engine/estimators/svm/smo_solver.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

constexpr double kTol = 1e-4;
constexpr double kFloat = 1e-6;   // kernel values are floats

// Rows in a cube, and the sign of a curved function of them, with noise.
struct Problem {
  std::int64_t n, d = 4;
  std::vector<double> X = {};
  std::vector<signed char> y = {};
};
Problem curved(std::int64_t n) {
  Problem made{.n = n};
  PhiloxStream random(3, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0.4 * random.uniform();
    for (std::int64_t j = 0; j < made.d; ++j) {
      made.X.push_back(random.uniform());
      sum += (j % 2 ? 1 : -1) * made.X.back() * made.X.back();
    }
    made.y.push_back(sum > 0.2 ? 1 : -1);
  }
  return made;
}

SmoProblem dual_of(const Problem& problem, double C) {
  SmoProblem dual{.ranges = {{0, problem.n}}, .y = problem.y};
  for (std::int64_t i = 0; i < problem.n; ++i) {
    dual.row.push_back(static_cast<std::int32_t>(i)), dual.C.push_back(C);
    dual.offset.push_back(problem.y[static_cast<std::size_t>(i)]);
  }
  dual.alpha.resize(dual.row.size());
  return dual;
}

SmoResult solved(const Problem& problem, double C, const std::string& device, std::int64_t cache_bytes) {
  const Context ctx{.device = testing::device_named(device)};
  const Matrix<double> X(ctx.memory(), problem.n, problem.d, problem.X);
  KernelRows kernel(ctx, {.name = "rbf", .gamma = 2}, X.view(), kTol, cache_bytes,
                    problem.n <= kWholeProblem ? problem.n : 512);
  return solve_smo(kernel, dual_of(problem, C), {.tol = kTol});
}

TEST(SmoBlock, FindsTheMarginOfTwoPoints) {   // at 0 and 2 on a line: a = 1/2 each
  const float kernel[2][2] = {{0, 0}, {0, 4}};
  SmoBlock block({{.score = -1, .C = 10, .diagonal = 0, .y = -1, .kernel = kernel[0], .column = 0},
                  {.score = 1, .C = 10, .diagonal = 4, .y = 1, .kernel = kernel[1], .column = 1}},
                 2);
  EXPECT_TRUE(block.solve(1e-12, 100).has_converged);
  EXPECT_DOUBLE_EQ(block.alpha(0), 0.5);
  EXPECT_DOUBLE_EQ(block.alpha(1), 0.5);
}

TEST(SmoBlock, StopsAtTheMostSteps) {
  const float kernel[2][2] = {{0, 0}, {0, 4}};
  SmoBlock block({{.score = -1, .C = 10, .diagonal = 0, .y = -1, .kernel = kernel[0], .column = 0},
                  {.score = 1, .C = 10, .diagonal = 4, .y = 1, .kernel = kernel[1], .column = 1}},
                 2);
  const SmoBlock::Outcome outcome = block.solve(1e-12, 0);
  EXPECT_FALSE(outcome.has_converged);
  EXPECT_EQ(outcome.n_iter, 0);
}

// Points on a line that no threshold divides, with a kernel of rank 1: pairs alone take some 100,000 steps.
std::vector<float> kernel_of_a_line(std::int64_t n) {
  std::vector<float> kernel;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      kernel.push_back(static_cast<float>(i * j) / static_cast<float>(n * n) + (i == j ? 1e-5F : 0.0F));
  return kernel;
}

TEST(SmoBlock, NeedsFewStepsWhereTheKernelIsNearlySingular) {
  constexpr std::int64_t kRows = 100, kMostSteps = 2000;
  constexpr double kC = 1e6;
  const std::vector<float> kernel = kernel_of_a_line(kRows);
  const auto sign = [](std::int64_t i) { return i % 10 == 0 ? -1 : (i < kRows / 2 ? -1 : 1); };
  std::vector<SmoBlock::Variable> variables;
  for (std::int64_t i = 0; i < kRows; ++i)
    variables.push_back({.score = static_cast<double>(sign(i)),
                         .C = kC,
                         .diagonal = kernel[static_cast<std::size_t>(i * kRows + i)],
                         .y = sign(i),
                         .kernel = kernel.data() + i * kRows,
                         .column = static_cast<std::int32_t>(i)});
  SmoBlock block(variables, kRows);
  const SmoBlock::Outcome outcome = block.solve(kTol, kMostSteps);
  EXPECT_TRUE(outcome.has_converged);
  double sum = 0;
  for (std::int64_t t = 0; t < kRows; ++t) {
    ASSERT_TRUE(block.alpha(t) >= 0 && block.alpha(t) <= kC);
    double score = sign(t);   // as the multipliers give it
    for (std::int64_t u = 0; u < kRows; ++u)
      score -= sign(u) * block.alpha(u) * static_cast<double>(kernel[static_cast<std::size_t>(u * kRows + t)]);
    EXPECT_NEAR(block.score(t), score, kTol);
    sum += sign(t) * block.alpha(t);
  }
  EXPECT_NEAR(sum, 0, 1e-10 * kC);
  SmoBlock limited(variables, kRows);
  EXPECT_EQ(limited.solve(kTol, outcome.n_iter - 1).n_iter, outcome.n_iter - 1);
}

TEST(FreeStep, LeavesEqualScoresInEachGroup) {   // 1 and 2 rows more than a vector has
  for (const std::int64_t second : {0, 5, 9, 11}) {
    constexpr std::int64_t kRows = 11;
    std::vector<double> K, s;
    for (std::int64_t i = 0; i < kRows; ++i) {
      s.push_back(static_cast<double>(i * i % 7));
      for (std::int64_t j = 0; j < kRows; ++j)
        K.push_back(std::exp(-0.3 * static_cast<double>((i - j) * (i - j))) + (i == j));
    }
    const std::vector<double> step = free_step(K, s, second);
    std::vector<double> after = s;
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t j = 0; j < kRows; ++j)
        after[static_cast<std::size_t>(i)] -=
            K[static_cast<std::size_t>(i * kRows + j)] * step[static_cast<std::size_t>(j)];
    const auto check = [&](std::int64_t begin, std::int64_t end) {
      EXPECT_NEAR(std::accumulate(step.begin() + begin, step.begin() + end, 0.0), 0, 1e-12);
      for (std::int64_t i = begin; i < end; ++i)
        EXPECT_NEAR(after[static_cast<std::size_t>(i)], after[static_cast<std::size_t>(begin)], 1e-10) << second;
    };
    check(0, second), check(second, kRows);
  }
}

TEST(FreeStep, AscendsWhereTheKernelIsNotPositive) {
  const std::vector<double> s{1, -1, 0};
  const std::vector<double> step = free_step({1, 2, 0, 2, 1, 0, 0, 0, -1}, s, 3);
  EXPECT_GT(step[0] * s[0] + step[1] * s[1] + step[2] * s[2], 0);
  EXPECT_NEAR((step[0] + step[1] + step[2]) / std::abs(step[0]), 0, 1e-12);
}

TEST(Smo, EndsWithASmallDualityGapInOneSetAndInSeveral) {
  for (const std::int64_t n : {300, 3000}) {
    const SmoResult result = solved(curved(n), 10, "cpu", 1 << 26);
    EXPECT_TRUE(result.has_converged);
    EXPECT_LE(result.gap, 1e-3 * -result.objective) << n;
    EXPECT_GE(result.gap, 0) << n;
    double sum = 0, most = 0;   // of y a, which is held at 0
    const Problem problem = curved(n);
    for (std::size_t t = 0; t < result.alpha.size(); ++t) {
      ASSERT_TRUE(result.alpha[t] >= 0 && result.alpha[t] <= 10);
      sum += problem.y[t] * result.alpha[t], most += result.alpha[t];
    }
    EXPECT_NEAR(sum, 0, 1e-10 * most);
  }
}

TEST(Smo, GivesTheSameBitsWithASmallCache) {
  const Problem problem = curved(3000);
  const SmoResult all = solved(problem, 10, "cpu", std::int64_t{1} << 30), few = solved(problem, 10, "cpu", 0);
  EXPECT_EQ(few.alpha, all.alpha);
  EXPECT_EQ(few.values, all.values);
}

TEST(Smo, FindsTheSameOptimumOnEveryDevice) {
  const Problem problem = curved(200);
  const SmoResult host = solved(problem, 10, "cpu", 1 << 26);
  for (const std::string& device : testing::device_names()) {
    const SmoResult there = solved(problem, 10, device, 1 << 26);
    EXPECT_NEAR(there.objective, host.objective, 1e-4 * -host.objective) << device;
  }
}

// The warnings of a fit with this kernel.
std::vector<std::string> warnings_of(const std::string& estimator, const schema::ValueMap& params) {
  const Problem problem = curved(200);
  std::vector<std::string> warnings;
  const Context ctx{.device = testing::device_named("cpu"), .emit = [&](const schema::EventBody& event) {
                      if (const auto* log = std::get_if<schema::LogEvent>(&event)) warnings.push_back(log->message);
                    }};
  Target y;
  y.classes = {"a", "b", "c"};
  for (std::size_t i = 0; i < problem.y.size(); ++i) {
    y.values.push_back(problem.y[i]);
    y.codes.push_back(problem.y[i] < 0 ? 0 : 1 + static_cast<std::int32_t>(i % 2));
  }
  find_estimator(estimator)->make_f64(params)->fit(
      ctx, samples_of(Matrix<double>(ctx.memory(), problem.n, problem.d, problem.X)), y);
  return warnings;
}

TEST(Svm, WarnsOnceOfAKernelThatIsNotPositive) {
  const schema::ValueMap sigmoid{{"kernel", "sigmoid"}, {"gamma", 2.0}, {"coef0", -1.0}};
  for (const char* const estimator : {"SVC", "SVR"}) {
    const std::vector<std::string> warnings = warnings_of(estimator, sigmoid);
    ASSERT_EQ(warnings.size(), 1) << estimator;
    EXPECT_EQ(warnings[0],
              std::string(estimator) +
                  ": the kernel sigmoid is not positive semidefinite on these rows, so that the fit ends at "
                  "one of several optima; take another gamma, coef0 or kernel");
  }
}

TEST(Svm, DoesNotWarnOfAKernelThatIsPositive) {
  for (const char* const kernel : {"rbf", "linear", "poly"})
    for (const char* const estimator : {"SVC", "SVR"})
      EXPECT_TRUE(warnings_of(estimator, {{"kernel", kernel}}).empty()) << kernel << ' ' << estimator;
}

TEST(KernelRows, AreTheSameWhenTheyAreLoadedAgain) {
  const Problem problem = curved(1500);
  const Context ctx{.device = testing::device_named("cpu")};
  const Matrix<double> X(ctx.memory(), problem.n, problem.d, problem.X);
  KernelRows few(ctx, {.name = "rbf", .gamma = 2}, X.view(), kTol, 0, 100),
      all(ctx, {.name = "rbf", .gamma = 2}, X.view(), kTol, 1 << 26, problem.n);
  all.load_all();
  for (std::int32_t first = 0; first < 1400; first += 37) {   // overlapping sets, beyond the ring's size
    std::vector<std::int32_t> set(100);
    std::iota(set.begin(), set.end(), first);
    few.load(set);
    for (const std::int32_t row : set)
      for (std::int64_t j = 0; j < problem.n; ++j)
        ASSERT_NEAR(few.row(row)[j], all.row(row)[j], kFloat) << row << ' ' << j;
  }
}

TEST(KernelRows, HaveTheValuesBetweenSomeOfThem) {   // of rows that are there, and of others
  const Problem problem = curved(1500);
  const Context ctx{.device = testing::device_named("cpu")};
  const Matrix<double> X(ctx.memory(), problem.n, problem.d, problem.X);
  const std::vector<std::int32_t> there{3, 40, 700}, rows{3, 17, 700, 1499};
  for (const double tol : {kTol, 1e-12}) {   // in float, in double
    KernelRows some(ctx, {.name = "rbf", .gamma = 2}, X.view(), tol, 0, 100),
        all(ctx, {.name = "rbf", .gamma = 2}, X.view(), tol, 1 << 26, problem.n);
    all.load_all();
    some.load(there);
    const std::vector<float> square = some.square(rows);
    ASSERT_EQ(square.size(), rows.size() * rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < rows.size(); ++j)
        EXPECT_NEAR(square[i * rows.size() + j], all.row(rows[i])[rows[j]], kFloat) << rows[i] << ' ' << rows[j];
  }
}

TEST(KernelRows, AreTheSameToTheBitWhicheverAreComputedTogether) {
  const Context ctx{.device = testing::device_named("cpu")};
  for (const std::int64_t d : {1, 30, 256}) {
    PhiloxStream random(5, 0);
    constexpr std::int64_t n = 701;
    std::vector<double> values(static_cast<std::size_t>(n * d));
    for (double& value : values) value = random.uniform();
    const Matrix<double> X(ctx.memory(), n, d, values);
    for (const char* const name : {"rbf", "linear", "poly", "sigmoid"})
      for (const double tol : {1e-2, 1e-12}) {   // in float, in double
        const KernelChoice choice{.name = name, .gamma = 0.5 / static_cast<double>(d)};
        KernelRows some(ctx, choice, X.view(), tol, 0, 30), all(ctx, choice, X.view(), tol, 1 << 26, n);
        all.load_all();
        ASSERT_TRUE(some.is_fixed() && all.is_fixed());
        for (const std::vector<std::int32_t>& set :
             {std::vector<std::int32_t>{700}, {3, 40, 699}, {0, 1, 2, 3, 4, 5, 6, 515}}) {
          const std::vector<float> square = some.square(set);
          some.load(set);
          for (std::size_t i = 0; i < set.size(); ++i) {
            for (std::int64_t j = 0; j < n; ++j)
              ASSERT_EQ(some.row(set[i])[j], all.row(set[i])[j]) << name << ' ' << d << ' ' << set[i] << ' ' << j;
            for (std::size_t j = 0; j < set.size(); ++j)
              ASSERT_EQ(square[i * set.size() + j], all.row(set[i])[set[j]]) << name << ' ' << d;
          }
        }
      }
  }
}

// What a search announces and asks for, with a kernel that counts how often it is made.
class SharedKernel : public ::testing::Test {
 protected:
  std::shared_ptr<KernelRows> ask(double C, std::int64_t cache_bytes = 1 << 20) {
    SvmParams params;
    params.C = C;
    return shared_kernel(ctx_, "X", "SVC", params, [&] {
      ++made_;
      return std::make_shared<KernelRows>(ctx_, KernelChoice{.name = "rbf", .gamma = 2}, std::as_const(X_).view(), kTol,
                                          cache_bytes, problem_.n);
    });
  }
  void announce(int times) {
    for (int i = 0; i < times; ++i) announce_kernel(work_, "X", "SVC", SvmParams());
  }

  WorkCache work_;
  Context ctx_{.device = testing::device_named("cpu"), .work = &work_};
  Problem problem_ = curved(100);
  Matrix<double> X_{ctx_.memory(), problem_.n, problem_.d, problem_.X};
  int made_ = 0;
};

TEST_F(SharedKernel, IsMadeOnceAndDroppedAfterTheLastCandidate) {
  announce(3);
  std::weak_ptr<KernelRows> kernel = ask(1);
  EXPECT_FALSE(kernel.expired());
  EXPECT_EQ(ask(10).get(), kernel.lock().get());
  EXPECT_EQ(ask(100).get(), kernel.lock().get());
  EXPECT_EQ(made_, 1);
  EXPECT_TRUE(kernel.expired());
  EXPECT_NE(ask(1000), nullptr);   // which no candidate announced
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedKernel, IsNotKeptForASingleCandidate) {
  announce(1);
  const std::weak_ptr<KernelRows> kernel = ask(1);
  EXPECT_TRUE(kernel.expired());
}

TEST_F(SharedKernel, IsNotKeptWhereValuesDependOnWhatIsLoadedTogether) {   // a device's products on demand
  const Context emulated{.device = testing::device_named("emulated"), .work = &work_};
  const Matrix<double> X(emulated.memory(), problem_.n, problem_.d, problem_.X);
  announce(2);
  const auto make = [&] {
    ++made_;
    return std::make_shared<KernelRows>(emulated, KernelChoice{.name = "rbf", .gamma = 2}, X.view(), kTol, 1 << 20, 10);
  };
  const auto first = shared_kernel(emulated, "X", "SVC", SvmParams(), make);
  EXPECT_FALSE(first->is_fixed());
  EXPECT_NE(shared_kernel(emulated, "X", "SVC", SvmParams(), make), first);
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedKernel, IsNotKeptBeyondTheRoomOfAFold) {
  problem_ = curved(17000);   // more than 1 GiB
  X_ = Matrix<double>(ctx_.memory(), problem_.n, problem_.d, problem_.X);
  announce(2);
  EXPECT_GT(ask(1, std::int64_t{1} << 40)->capacity_bytes(), kSharedKernelBytes);
  ask(1, std::int64_t{1} << 40);
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedKernel, IsMadeAgainAfterAFailure) {
  announce(2);
  EXPECT_THROW(shared_kernel(ctx_, "X", "SVC", SvmParams(),
                             []() -> std::shared_ptr<KernelRows> {
                               throw schema::Error(schema::ErrorCode::kBadData, "it failed");
                             }),
               schema::Error);
  EXPECT_NE(ask(1), nullptr);
  EXPECT_EQ(made_, 1);
}

TEST(KernelRows, AreComputedInDoubleWhereFloatIsTooCoarse) {
  const Context ctx{.device = testing::device_named("cpu")};
  const Matrix<double> X(ctx.memory(), 3, 1, std::vector<double>{1e3, 1e3 + 1e-3, -1e3});
  KernelRows kernel(ctx, {.name = "linear"}, X.view(), kTol, 1 << 20, 3);
  EXPECT_TRUE(kernel.is_double());
  const Matrix<double> near(ctx.memory(), 3, 1, std::vector<double>{0.1, 0.2, 0.3});
  EXPECT_FALSE(KernelRows(ctx, {.name = "linear"}, near.view(), kTol, 1 << 20, 3).is_double());
}

TEST(Sigmoid, RunsFromOneClassToTheOther) {
  std::vector<double> decisions;
  std::vector<signed char> labels;
  for (int i = -50; i <= 50; ++i) decisions.push_back(0.1 * i), labels.push_back(i + i % 3 > 0 ? 1 : -1);
  const Sigmoid fitted = fit_sigmoid(decisions, labels);
  EXPECT_LT(fitted.A, 0);
  EXPECT_GT(fitted(5.0), 0.95);
  EXPECT_LT(fitted(-5.0), 0.05);
}

TEST(CouplePairs, KeepsSharesThatAgree) {   // pairs made of 0.5, 0.3, 0.2
  const std::vector<double> shares{0.5, 0.3, 0.2};
  std::vector<double> pairs(9, 0.0);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (a != b) pairs[a * 3 + b] = shares[a] / (shares[a] + shares[b]);
  const std::vector<double> found = couple_pairs(pairs, 3);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], shares[c], 0.005);
}

TEST(FoldOrder, IsAPermutationOfItsSeed) {
  std::vector<std::int64_t> order = fold_order(7, 100);
  EXPECT_EQ(order, fold_order(7, 100));
  EXPECT_NE(order, fold_order(8, 100));
  std::ranges::sort(order);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

}   // namespace
}   // namespace kedge::engine
