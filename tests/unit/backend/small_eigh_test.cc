// Small symmetric eigenproblems: what the vectors must satisfy, at all sizes and for matrices that are hard for the iteration.
#include "engine/backend/cpu/linear/small_eigh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kedge::engine {
namespace {

template <class T>
using Matrix = std::vector<T>;   // n x n

template <class T>
class SmallEigh : public ::testing::Test {
 protected:
  static constexpr double kRound = std::numeric_limits<T>::epsilon();

  static Matrix<T> symmetric(int n, auto&& element) {
    Matrix<T> a(static_cast<std::size_t>(n * n));
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = static_cast<T>(element(i, j));
    return a;
  }

  // Each A v = w v within the rounding of A's largest eigenvalue, the vectors orthonormal, the values in order.
  static void check(const Matrix<T>& a, int n) {
    Matrix<T> v = a;
    std::vector<T> w(static_cast<std::size_t>(n));
    ASSERT_TRUE(small_eigh<T>({v.data(), n, n}, {w.data(), n}));
    const double bound = (20 + n) * kRound,
                 norm = std::max(std::abs(static_cast<double>(w.front())), std::abs(static_cast<double>(w.back())));
    for (int k = 0; k < n; ++k) {
      EXPECT_LE(w[std::max(k, 1) - 1], w[k]);
      for (int i = 0; i < n; ++i) {
        double product = 0, inner = 0;
        for (int j = 0; j < n; ++j) {
          product += static_cast<double>(a[i * n + j]) / norm * v[k * n + j];
          inner += static_cast<double>(v[i * n + j]) * v[k * n + j];
        }
        ASSERT_NEAR(product, w[k] / norm * v[k * n + i], bound) << n << ": vector " << k << " at " << i;
        ASSERT_NEAR(inner, i == k, bound) << n << ": vectors " << i << " and " << k;
      }
    }
  }

  static double number(int i, int j) { return std::sin(1.0 + 12.9898 * i * i + 78.233 * j); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SmallEigh, Types);

TYPED_TEST(SmallEigh, OfEverySize) {
  for (int n = 1; n <= kSmallEigh; ++n) this->check(this->symmetric(n, [](int i, int j) { return SmallEigh<TypeParam>::number(i, j); }), n);
}

TYPED_TEST(SmallEigh, OfMatricesThatAreHardForTheIteration) {
  for (const int n : {2, 7, 16, 33, 64}) {
    const auto check = [&](auto&& element) { this->check(this->symmetric(n, element), n); };
    check([](int i, int j) { return i == j; });                                            // one eigenvalue
    check([](int, int) { return 1; });                                                     // rank one
    check([n](int i, int j) { return i == j ? static_cast<double>(std::abs(i - n / 2)) : i == j + 1; });        // Wilkinson's: pairs that agree to the last digits
    check([](int i, int j) { return 1.0 / (i + j + 1); });                                 // Hilbert's
    check([](int i, int j) { return std::pow(10.0, -0.3 * (i + j)) * (i == j ? 2 : 1); });   // graded, the largest first
    check([n](int i, int j) { return std::pow(10.0, -0.3 * (2 * n - i - j)) * (i == j ? 2 : 1); });
    check([](int i, int j) { return i == j ? i % 3 : 0; });                                // already diagonal, not in order
    check([](int i, int j) { return i / 4 == j / 4 ? 1 + i : 0; });                        // of blocks
  }
}

TYPED_TEST(SmallEigh, OfTheLargestAndSmallestNumbers) {
  for (const TypeParam scale : {std::numeric_limits<TypeParam>::max() / 128, std::numeric_limits<TypeParam>::min() * 128})
    for (const int n : {2, 30}) this->check(this->symmetric(n, [&](int i, int j) { return SmallEigh<TypeParam>::number(i, j) * scale; }), n);
  this->check(this->symmetric(3, [](int i, int j) { return i == j ? 1 : std::numeric_limits<TypeParam>::denorm_min(); }), 3);
}

TYPED_TEST(SmallEigh, ScalesByPowersOfTwoToTheBit) {
  const int n = 30;
  std::vector<TypeParam> w(n), twice(n);
  auto a = this->symmetric(n, [](int i, int j) { return SmallEigh<TypeParam>::number(i, j); }), b = a;
  for (TypeParam& x : b) x *= TypeParam(1024);
  ASSERT_TRUE(small_eigh<TypeParam>({a.data(), n, n}, {w.data(), n}));
  ASSERT_TRUE(small_eigh<TypeParam>({b.data(), n, n}, {twice.data(), n}));
  EXPECT_EQ(a, b);
  for (int i = 0; i < n; ++i) EXPECT_EQ(w[i] * TypeParam(1024), twice[i]);
}

TYPED_TEST(SmallEigh, HeedsNoOrderOfItsRows) {
  const int n = 30;
  const auto graded = [](int i, int j) { return std::pow(10.0, -0.1 * (i + j)) * (i == j ? 2 : 0.5); };
  auto a = this->symmetric(n, graded), b = this->symmetric(n, [&](int i, int j) { return graded(i * 7 % 30, j * 7 % 30); });
  std::vector<TypeParam> w(n), other(n);
  ASSERT_TRUE(small_eigh<TypeParam>({a.data(), n, n}, {w.data(), n}));
  ASSERT_TRUE(small_eigh<TypeParam>({b.data(), n, n}, {other.data(), n}));
  EXPECT_EQ(w, other);
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j) EXPECT_EQ(a[k * n + j * 7 % 30], b[k * n + j]);
}

TYPED_TEST(SmallEigh, LeavesWhatItCannotDo) {
  for (const TypeParam bad : {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity(), TypeParam(0)}) {
    Matrix<TypeParam> a(9, TypeParam(0));
    a[4] = bad;
    std::vector<TypeParam> w(3);
    EXPECT_FALSE(small_eigh<TypeParam>({a.data(), 3, 3}, {w.data(), 3}));
    EXPECT_EQ(a[0], 0);
  }
}

}  // namespace
}  // namespace kedge::engine
