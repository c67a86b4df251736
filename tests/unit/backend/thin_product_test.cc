// Thin products against plain sums in double, at the edges of their tiles, vectors and class groups.
#include "engine/backend/cpu/thin_product.h"

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
    for (const std::int64_t d : {1, 17, 100})
      for (const std::int64_t k : {1, 8, 9, 16}) {
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
    for (const std::int64_t d : {1, 16, 37})
      for (const std::int64_t k : {1, 7, 16}) {
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

}  // namespace
}  // namespace kedge::engine
