// Parity of the steps of non-negative factorisation, on devices that have them for whole rows.
#include "tests/parity/factor_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/ops/factor_steps.h"

namespace kedge::parity {
namespace {

using engine::FactorProblem;

// Sums of rows are in T, of n_parts + n_cols terms; the scale passed in is that times the largest number.
template <class T>
constexpr double kStep = 4 * std::numeric_limits<T>::epsilon();

struct Factors {
  Table W, H;   // k x n, k x d
};

// One sweep of F (k x columns) against the Gram matrix of the other factor, for the targets before the penalty.
double sweep(Table& F, const Table& gram, const Table& targets, double l1, double l2,
             const std::vector<std::int64_t>& order) {
  double violation = 0;
  for (std::int64_t c = 0; c < F.cols; ++c) {
    for (const std::int64_t t : order) {
      const double diagonal = gram.at(t, t) + l2, before = F.at(t, c);
      if (diagonal <= 0) continue;
      double gradient = l1 - targets.at(t, c) + l2 * before;
      for (std::int64_t s = 0; s < F.rows; ++s) gradient += gram.at(t, s) * F.at(s, c);
      violation += std::abs(before > 0 ? gradient : std::min(gradient, 0.0));
      F.at(t, c) = std::max(before - gradient / diagonal, 0.0);
    }
  }
  return violation;
}

void multiply(Table& F, const Table& gram, const Table& targets, double l1, double l2) {
  const Table before = F;
  for (std::int64_t c = 0; c < F.cols; ++c) {
    for (std::int64_t t = 0; t < F.rows; ++t) {
      double divisor = l1 + l2 * before.at(t, c);
      for (std::int64_t s = 0; s < F.rows; ++s) divisor += gram.at(t, s) * before.at(s, c);
      F.at(t, c) *= divisor > 0 ? targets.at(t, c) / divisor : 0;
    }
  }
}

// F X' or F X, as X has its terms in rows or columns; and F F'.
Table products(const Table& F, const Table& X, bool by_rows) {
  Table made(F.rows, by_rows ? X.rows : X.cols);
  for (std::int64_t t = 0; t < F.rows; ++t)
    for (std::int64_t i = 0; i < X.rows; ++i)
      for (std::int64_t j = 0; j < X.cols; ++j) made.at(t, by_rows ? i : j) += F.at(t, by_rows ? j : i) * X.at(i, j);
  return made;
}

template <class T>
double reference(const FactorProblem<T>& problem, const Table& X, Factors& factors,
                 const std::vector<std::int64_t>& of_w, const std::vector<std::int64_t>& of_h) {
  auto& [W, H] = factors;
  double violation = 0;
  const Table targets = products(H, X, true), gram = products(H, H, true);
  if (problem.by_coordinates) violation += sweep(W, gram, targets, problem.l1_w, problem.l2_w, of_w);
  else multiply(W, gram, targets, problem.l1_w, problem.l2_w);
  if (!problem.updates_h) return violation;
  const Table of_columns = products(W, X, false), gram_w = products(W, W, true);
  if (problem.by_coordinates) return violation + sweep(H, gram_w, of_columns, problem.l1_h, problem.l2_h, of_h);
  multiply(H, gram_w, of_columns, problem.l1_h, problem.l2_h);
  return violation;
}

Table not_negative(Table table) {
  for (double& value : table.values) value = std::max(value, 0.0) / 8;
  return table;
}

template <class T>
void expect_step(Probe<T>& probe, FactorProblem<T> problem, bool is_shuffled, const std::string& name) {
  const auto [n, d, k] = probe.shape();
  const Table X = not_negative(probe.numbers(n, d, 1));
  Factors factors{not_negative(probe.numbers(k, n, 2)), not_negative(probe.numbers(k, d, 3))};
  if (k > 2) std::fill_n(factors.H.values.begin() + d, d, 0.0);   // a part that explains nothing stays as it is
  const Padded<T> values(probe.memory(), X);
  const auto uploaded = [&](const Table& one) {
    return Matrix<T>(probe.memory(), one.rows, one.cols, std::vector<T>(one.values.begin(), one.values.end()));
  };
  Matrix<T> W = uploaded(factors.W), H = uploaded(factors.H);
  problem.X = values.view(), problem.W = W.view(), problem.H = H.view();
  auto* const ops = engine::factor_ops(*probe.ops().factorise);
  if (!ops) return;   // a device that goes by blocks
  const auto steps = ops->factor_steps(problem);
  ASSERT_TRUE(steps != nullptr);
  std::vector<std::int64_t> of_w(static_cast<std::size_t>(k));
  std::iota(of_w.begin(), of_w.end(), std::int64_t{0});
  std::vector<std::int64_t> of_h = of_w;
  if (is_shuffled) std::ranges::reverse(of_w), std::ranges::rotate(of_h, of_h.begin() + k / 2);
  const double expected = reference(problem, X, factors, of_w, of_h),
               got = is_shuffled ? steps->step(of_w, of_h) : steps->step({}, {});
  const double scale = static_cast<double>(d + k) * 64;
  const auto compare = [&](const Matrix<T>& found, const Table& wanted, const char* what) {
    Table table(wanted.rows, wanted.cols);
    std::ranges::copy(found.to_host(), table.values.begin());
    double largest = 1;
    for (const double value : wanted.values) largest = std::max(largest, value);
    probe.expect_near(table, wanted, scale * largest, name + what);
  };
  compare(W, factors.W, " W");
  compare(H, factors.H, " H");
  probe.expect_near(got, expected, scale * (1 + expected), name + " violation");
}

template <class T>
void check_steps(Probe<T>& probe) {
  expect_step<T>(probe, {}, false, "coordinates");
  expect_step<T>(probe, {.l1_w = 0.25, .l2_w = 0.5, .l1_h = 0.125, .l2_h = 2}, true, "penalties");
  expect_step<T>(probe, {.updates_h = false, .l1_w = 0.25}, false, "rows alone");
  expect_step<T>(probe, {.by_coordinates = false, .l1_w = 0.5, .l2_w = 0.25, .l1_h = 0.5, .l2_h = 1}, false, "factors");
}

// More parts than a device takes, and nothing at all, are for the caller.
template <class T>
void check_refused(Probe<T>& probe) {
  auto* const ops = engine::factor_ops(*probe.ops().factorise);
  if (!ops) return;
  for (const std::int64_t k : {std::int64_t{0}, engine::kMostFactorParts + 1}) {
    Matrix<T> X(probe.memory(), 3, 2), W(probe.memory(), k, 3), H(probe.memory(), k, 2);
    EXPECT_TRUE(ops->factor_steps({.X = X.view(), .W = W.view(), .H = H.view()}) == nullptr) << k << " parts";
  }
}

}   // namespace

template <class T>
std::vector<Row<T>> factor_rows() {
  return {{"factor_steps",
           kStep<T>,
           &check_steps<T>,
           {{1, 1, 1}, {5, 3, 2}, {64, 32, 5}, {150, 33, 4}, {200, 70, 32}, {4500, 6, 3}}},
          {"factor_steps_refused", kStep<T>, &check_refused<T>, {{1, 1, 1}}}};
}

template std::vector<Row<float>> factor_rows();
template std::vector<Row<double>> factor_rows();

}   // namespace kedge::parity
