// Factorisations on the CPU at sizes where they go panel by panel: what the factors must satisfy, with any number of
// threads and the scale.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

template <class T>
struct Table {   // row-major
  std::int64_t rows, cols;
  std::vector<T> cells = std::vector<T>(static_cast<std::size_t>(rows * cols));
  T& at(std::int64_t i, std::int64_t j) { return cells[static_cast<std::size_t>(i * cols + j)]; }
  MatrixView<T> view() { return {cells.data(), rows, cols}; }
  MatrixView<const T> const_view() const { return {cells.data(), rows, cols}; }
};

template <class T>
Table<T> numbers(std::int64_t rows, std::int64_t cols) {
  Table<T> a{rows, cols};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      a.at(i, j) =
          static_cast<T>(std::sin(1.0 + 12.9898 * static_cast<double>(i * i) + 78.233 * static_cast<double>(j)));
  return a;
}

template <class T>
class Factorise : public ::testing::Test {
 protected:
  static constexpr double kRound = std::numeric_limits<T>::epsilon();

  Table<T> product(Transpose ta, Table<T>& A, Transpose tb, Table<T>& B) {
    Table<T> C{ta == Transpose::kYes ? A.cols : A.rows, tb == Transpose::kYes ? B.rows : B.cols};
    ops.linear->gemm(ta, tb, T{1}, A.const_view(), B.const_view(), T{0}, C.view());
    return C;
  }
  static void expect_near(const Table<T>& a, const Table<T>& b, double bound) {
    ASSERT_EQ(a.cells.size(), b.cells.size());
    double farthest = 0;
    for (std::size_t e = 0; e < a.cells.size(); ++e)
      farthest = std::max(farthest, std::abs(static_cast<double>(a.cells[e]) - static_cast<double>(b.cells[e])));
    EXPECT_LE(farthest, bound);   // false for NaN as well
  }
  void expect_orthonormal(Transpose ta, Table<T>& Q, Transpose tb, double bound) {
    Table<T> one{ta == Transpose::kYes ? Q.cols : Q.rows, ta == Transpose::kYes ? Q.cols : Q.rows};
    for (std::int64_t i = 0; i < one.rows; ++i) one.at(i, i) = 1;
    expect_near(product(ta, Q, tb, Q), one, bound);
  }
  void check_svd(std::int64_t rows, std::int64_t cols) {
    SCOPED_TRACE(testing::Message() << rows << " x " << cols);
    const Table<T> A = numbers<T>(rows, cols);
    const std::int64_t r = std::min(rows, cols);
    Table<T> work = A, U{rows, r}, Vt{r, cols};
    std::vector<T> s(static_cast<std::size_t>(r));
    ops.factorise->svd(work.view(), U.view(), {s.data(), r}, Vt.view());
    const double bound = 20 * kRound * std::sqrt(static_cast<double>(rows + cols));
    expect_orthonormal(Transpose::kYes, U, Transpose::kNo, bound),
        expect_orthonormal(Transpose::kNo, Vt, Transpose::kYes, bound);
    Table<T> scaled = U;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < r; ++j) scaled.at(i, j) *= s[static_cast<std::size_t>(j)];
    expect_near(product(Transpose::kNo, scaled, Transpose::kNo, Vt), A, bound * static_cast<double>(s[0]));
    EXPECT_TRUE(std::ranges::is_sorted(s, std::greater()));
  }
  // The vectors of the count largest eigenvalues of a symmetric matrix.
  void check_eigh(std::int64_t n, std::int64_t count) {
    SCOPED_TRACE(testing::Message() << count << " of " << n);
    Table<T> B = numbers<T>(n, n), A = product(Transpose::kYes, B, Transpose::kNo, B), V = A;
    std::vector<T> w(static_cast<std::size_t>(count));
    ops.factorise->eigh(V.view(), {w.data(), count});
    V = {count, n, {V.cells.begin(), V.cells.begin() + static_cast<std::ptrdiff_t>(count * n)}};
    const double bound = 20 * kRound * std::sqrt(static_cast<double>(n));
    expect_orthonormal(Transpose::kNo, V, Transpose::kYes, bound);
    Table<T> moved = product(Transpose::kNo, V, Transpose::kNo, A), wanted = V;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < n; ++j) wanted.at(i, j) *= w[static_cast<std::size_t>(i)];
    expect_near(moved, wanted, bound * static_cast<double>(w.back()));
    EXPECT_TRUE(std::ranges::is_sorted(w));
  }

  Backend<T> ops = make_cpu_backend<T>();
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Factorise, Types);

TYPED_TEST(Factorise, SingularValuesOfEveryShape) {
  for (const auto [rows, cols] : std::initializer_list<std::pair<int, int>>{{1, 1},
                                                                            {1, 7},
                                                                            {7, 1},
                                                                            {33, 33},
                                                                            {200, 200},
                                                                            {310, 300},
                                                                            {300, 310},
                                                                            {700, 150},
                                                                            {150, 700},
                                                                            {161, 2},
                                                                            {2, 161}})
    this->check_svd(rows, cols);
}

TYPED_TEST(Factorise, EigenvectorsAllOrTheLeadingOnes) {
  for (const auto [n, count] :
       std::initializer_list<std::pair<int, int>>{{65, 65}, {97, 97}, {300, 300}, {300, 40}, {300, 1}, {40, 2}})
    this->check_eigh(n, count);
}

TYPED_TEST(Factorise, AnOrthonormalBasisOfTheSameSpace) {
  Table<TypeParam> A = numbers<TypeParam>(700, 100), Q = A;
  this->ops.factorise->orthonormalize(Q.view());
  const double bound = 1000 * this->kRound;
  this->expect_orthonormal(Transpose::kYes, Q, Transpose::kNo, bound);
  Table<TypeParam> along = this->product(Transpose::kYes, Q, Transpose::kNo, A);
  this->expect_near(this->product(Transpose::kNo, Q, Transpose::kNo, along), A, bound);
}

TYPED_TEST(Factorise, EquationsOfManyBlocks) {
  constexpr std::int64_t kRows = 1100;
  Table<TypeParam> A{kRows, kRows}, X = numbers<TypeParam>(kRows, 3);
  for (std::int64_t i = 0; i < kRows; ++i)   // strictly dominated by its diagonal
    for (std::int64_t j = 0; j < kRows; ++j)
      A.at(i, j) = i == j ? TypeParam{4}
                          : static_cast<TypeParam>(std::sin(static_cast<double>(i + j)) / static_cast<double>(kRows));
  Table<TypeParam> B = this->product(Transpose::kNo, A, Transpose::kNo, X), factor = A;
  ASSERT_TRUE(this->ops.factorise->solve_positive(factor.view(), B.view()));
  this->expect_near(B, X, 100 * this->kRound);
  factor = A, factor.at(kRows - 1, kRows - 1) = -1;
  EXPECT_FALSE(this->ops.factorise->solve_positive(factor.view(), B.view()));
  this->expect_near(B, X, 100 * this->kRound);   // unchanged
}

TYPED_TEST(Factorise, ATriangleOfManyColumns) {
  Table<TypeParam> D = numbers<TypeParam>(3000, 90);
  Table<double> R{90, 90}, wide{3000, 90, {D.cells.begin(), D.cells.end()}}, left{90, 90}, right{90, 90};
  this->ops.design->triangle({.X = D.const_view()}, R.view());
  Backend<double> ops = make_cpu_backend<double>();
  ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, R.const_view(), R.const_view(), 0.0, left.view());
  ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, wide.const_view(), wide.const_view(), 0.0, right.view());
  for (std::size_t e = 0; e < left.cells.size(); ++e) ASSERT_NEAR(left.cells[e], right.cells[e], 1e-9);
  for (std::int64_t i = 0; i < 90; ++i)
    for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(R.at(i, j), 0.0);
}

TYPED_TEST(Factorise, TheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  std::vector<std::vector<TypeParam>> found;
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    Table<TypeParam> A = numbers<TypeParam>(600, 640), U{600, 600}, Vt{600, 640};
    std::vector<TypeParam> s(600);
    this->ops.factorise->svd(A.view(), U.view(), {s.data(), 600}, Vt.view());
    found.push_back(Vt.cells);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(found[0], found[1]);
}

TYPED_TEST(Factorise, NumbersWhoseSquaresWouldOverflowOrVanish) {
  const int exponent = std::numeric_limits<TypeParam>::max_exponent - 10;
  for (const int e : {-exponent, exponent}) {
    Table<TypeParam> A = numbers<TypeParam>(80, 70), large = A, U{80, 70}, Vt{70, 70};
    std::vector<TypeParam> s(70), scaled(70);
    for (TypeParam& x : large.cells) x = std::ldexp(x, e);
    this->ops.factorise->svd(A.view(), U.view(), {s.data(), 70}, Vt.view());
    this->ops.factorise->svd(large.view(), U.view(), {scaled.data(), 70}, Vt.view());
    for (std::size_t i = 0; i < s.size(); ++i) EXPECT_NEAR(std::ldexp(scaled[i], -e), s[i], 100 * this->kRound * s[0]);
  }
}

TYPED_TEST(Factorise, WhatIsNotFiniteIsRefused) {
  for (const TypeParam bad :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
    Table<TypeParam> A = numbers<TypeParam>(80, 70), U{80, 70}, Vt{70, 70}, S = numbers<TypeParam>(80, 80);
    std::vector<TypeParam> s(80);
    A.at(3, 4) = S.at(5, 6) = S.at(6, 5) = bad;
    EXPECT_THROW(this->ops.factorise->svd(A.view(), U.view(), {s.data(), 70}, Vt.view()), schema::Error);
    EXPECT_THROW(this->ops.factorise->eigh(S.view(), {s.data(), 80}), schema::Error);
  }
}

}   // namespace
}   // namespace kedge::engine
