// Thin products against plain sums in double, at the edges of their tiles, vectors and class groups.
#include "engine/backend/cpu/linear/thin_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kedge::engine {
namespace {

template <class T>
class ThinProduct : public ::testing::Test {
 protected:
  static std::vector<T> numbers(std::int64_t n, std::int64_t step) {
    std::vector<T> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v[i] = static_cast<T>((i * step + 7) % 1009) / T{1009} - T{0.4};
    return v;
  }
  // n eps: more than pairs of blocked sums of numbers below 0.6 lose in practice, less than one wrong term adds.
  static double bound(std::int64_t n) { return static_cast<double>(n) * std::numeric_limits<T>::epsilon(); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ThinProduct, Types);

constexpr std::int64_t kPad = 3;   // unused elements after each row

TYPED_TEST(ThinProduct, OfRowsIsTheSumOverColumns) {
  for (const std::int64_t n : {8, 9, 1030})
    for (const std::int64_t d : {1, 16, 17, 64, 100})
      for (const std::int64_t k : {1, 2, 3, 8, 9, 16}) {
        const auto x = this->numbers(n * (d + kPad), 31), b = this->numbers(k * d, 57);
        std::vector<TypeParam> c(static_cast<std::size_t>(n * (k + kPad)), TypeParam{77});
        thin_rows_product<TypeParam>({x.data(), n, d, d + kPad}, {b.data(), k, d}, {c.data(), n, k, k + kPad});
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t q = 0; q < k; ++q) {
            long double sum = 0;
            for (std::int64_t j = 0; j < d; ++j) sum += static_cast<long double>(x[i * (d + kPad) + j]) * b[q * d + j];
            ASSERT_NEAR(c[i * (k + kPad) + q], static_cast<double>(sum), this->bound(d)) << n << " x " << d << " x " << k << " at " << i << ", " << q;
          }
          ASSERT_EQ(c[i * (k + kPad) + k], TypeParam{77}) << "wrote beyond a row";
        }
      }
}

TYPED_TEST(ThinProduct, OfColumnsIsTheSumOverRows) {
  for (const std::int64_t n : {1, 17, 1024, 70001})
    for (const std::int64_t d : {1, 16, 37, 200})
      for (const std::int64_t k : {1, 4, 7, 10, 16}) {
        const auto x = this->numbers(n * (d + kPad), 31), z = this->numbers(n * k, 57);
        std::vector<TypeParam> c(static_cast<std::size_t>(k * d));
        thin_columns_product<TypeParam>({z.data(), n, k}, {x.data(), n, d, d + kPad}, {c.data(), k, d});
        for (std::int64_t q = 0; q < k; ++q)
          for (std::int64_t j = 0; j < d; ++j) {
            long double sum = 0;
            for (std::int64_t i = 0; i < n; ++i) sum += static_cast<long double>(z[i * k + q]) * x[i * (d + kPad) + j];
            ASSERT_NEAR(c[q * d + j], static_cast<double>(sum), this->bound(n)) << n << " x " << d << " x " << k << " at " << q << ", " << j;
          }
      }
}

// What a pass does to Z comes between its two products, in blocks that leave no row out.
TYPED_TEST(ThinProduct, OfAPassAreThoseOfBothProducts) {
  using T = TypeParam;
  for (const std::int64_t n : {8, 41, 1031, 5000})
    for (const std::int64_t d : {1, 20, 130}) {
      const std::int64_t k = 6;
      const auto x = this->numbers(n * (d + kPad), 31), b = this->numbers(k * d, 57);
      const MatrixView<const T> X(x.data(), n, d, d + kPad), B(b.data(), k, d);
      std::vector<T> z(static_cast<std::size_t>(n * (k + kPad)), T{77}), c(static_cast<std::size_t>(k * d)), expected_z = z, expected_c = c;
      const auto halve = [n](std::vector<T>& values, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t q = 0; q < k; ++q) values[i * (k + kPad) + q] = values[i * (k + kPad) + q] / 2 - T(i) / T(n);
        return static_cast<double>(end - begin);
      };
      const double rows = thin_pass<T>(X, B, {z.data(), n, k, k + kPad}, [&](auto begin, auto end) { return halve(z, begin, end); }, {c.data(), k, d});
      thin_rows_product<T>(X, B, {expected_z.data(), n, k, k + kPad});
      halve(expected_z, 0, n);
      thin_columns_product<T>({expected_z.data(), n, k, k + kPad}, X, {expected_c.data(), k, d});
      EXPECT_EQ(rows, static_cast<double>(n));
      EXPECT_EQ(z, expected_z) << n << " x " << d;
      EXPECT_EQ(c, expected_c) << n << " x " << d;
    }
}

TYPED_TEST(ThinProduct, HasKernelsOfEveryWidthThatAgree) {
  using T = TypeParam;
  constexpr std::int64_t W = ThinStrip<T>::kLanes, rows = 13;
  ASSERT_NE(thin_kernels_of<T>(16), nullptr);
  for (const std::int64_t d : {W, W + 1, 3 * W - 1, 10 * W})
    for (std::int64_t k = 1; k <= kThin; ++k) {
      const auto x = this->numbers(rows * d, 31), z = this->numbers(rows * k, 57);
      std::vector<ThinStrip<T>> along(static_cast<std::size_t>(k * ((d + W - 1) / W))), across(static_cast<std::size_t>(d * ((k + W - 1) / W)));
      for (std::int64_t j = 0; j < d; ++j)   // b[c][j] = j - 2 c
        for (std::int64_t c = 0; c < k; ++c) {
          const T value = static_cast<T>(j - 2 * c) / T(d);
          across[c / W * d + j].lanes[c % W] = value;
          along[c * ((d + W - 1) / W) + j / W].lanes[j < d / W * W ? j % W : j - (d - W)] = value;
        }
      struct Answers {
        std::vector<T> along, across, sums;
      };
      const auto answers = [&](const ThinKernels<T>& kernels) {
        Answers of{std::vector<T>(kThinRows * k), std::vector<T>(kThinRows * k), this->numbers(k * d, 11)};
        kernels.multiply_along(x.data(), d, d, along.data(), k, of.along.data());
        kernels.multiply_across(x.data(), d, d, across.data(), k, of.across.data());
        kernels.add(x.data(), d, rows, d, z.data(), k, k, of.sums.data());
        return of;
      };
      const Answers plain = answers(*thin_kernels_of<T>(16));
      for (std::size_t e = 0; e < plain.along.size(); ++e) ASSERT_NEAR(plain.along[e], plain.across[e], this->bound(d));
      std::vector<Answers> fused;
      for (const int bytes : {32, 64})
        if (const auto* kernels = thin_kernels_of<T>(bytes)) fused.push_back(answers(*kernels));
      for (const Answers& of : fused) {
        for (std::size_t e = 0; e < plain.along.size(); ++e) ASSERT_NEAR(of.along[e], plain.along[e], this->bound(d));
        for (std::size_t e = 0; e < plain.sums.size(); ++e) ASSERT_NEAR(of.sums[e], plain.sums[e], this->bound(rows));
        ASSERT_EQ(of.along, fused[0].along) << d << ", " << k;
        ASSERT_EQ(of.across, fused[0].across) << d << ", " << k;
        ASSERT_EQ(of.sums, fused[0].sums) << d << ", " << k;
      }
    }
}

}  // namespace
}  // namespace kedge::engine
