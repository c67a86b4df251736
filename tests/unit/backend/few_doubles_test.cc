// GPUs with few double units multiply floats as pairs of floats: what that costs in bits, and where they must not.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/cuda/float_pair.cuh"
#include "engine/core/array.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

using emulated::gpu_model;

constexpr double kUnit = 0x1p-24;
constexpr double kPairs = 0x1p-45;
constexpr double kDoubles = 0x1p-50;

TEST(FewDoubles, AreWhatGraphicsCardsHave) {
  for (const char* name : {"T4", "L4", "L40S"})
    EXPECT_TRUE(has_few_double_units(CudaRuntime({.model = &gpu_model(name)}))) << name;
  for (const char* name : {"A100", "H100", "B200"})
    EXPECT_FALSE(has_few_double_units(CudaRuntime({.model = &gpu_model(name)}))) << name;
}

double any_size(PhiloxStream& random, int exponents) {
  const int exponent = static_cast<int>(random.below(static_cast<std::uint64_t>(2 * exponents))) - exponents;
  return std::ldexp(random.uniform() - 0.5, exponent);
}

TEST(FloatPair, OperationsErrByWhatTheySay) {
  PhiloxStream random(1, 0);
  for (int i = 0; i < 20000; ++i) {
    const double a = any_size(random, 20), b = any_size(random, 20);
    const FloatPair x = number<FloatPair>(a), y = number<FloatPair>(b);
    EXPECT_LE(std::abs(value_of(x) - a), kUnit * kUnit * std::abs(a));
    const double v = value_of(x), w = value_of(y);
    EXPECT_LE(std::abs(value_of(product(x, y)) - v * w), 6 * kUnit * kUnit * std::abs(v * w));
    EXPECT_LE(std::abs(value_of(plus(x, y)) - (v + w)), 3 * kUnit * kUnit * (std::abs(v) + std::abs(w)));
    const FloatPair both = exact_sum(x.high, y.high);
    EXPECT_EQ(value_of(both), static_cast<double>(x.high) + static_cast<double>(y.high));
  }
}

TEST(FloatPair, ADifferenceKeepsItsBitsWhereTheShiftIsClose) {
  PhiloxStream random(2, 0);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(any_size(random, 20));
    const double shift = static_cast<double>(x) * (1 + any_size(random, 52)), exact = static_cast<double>(x) - shift;
    const FloatPair found = AffineMap<FloatPair>::of(shift, 1)(x);
    EXPECT_LE(std::abs(value_of(found) - exact), 4 * kUnit * kUnit * std::abs(exact) + 0x1p-53 * std::abs(exact));
  }
}

// A design of half of the rows, in double, and as devices take it.
struct Rows {
  std::int64_t n, cols;
  std::vector<float> X;
  std::vector<std::int32_t> chosen;
  std::vector<double> shift, scale, weights, y;

  Rows(std::int64_t n, std::int64_t cols, double mean = 3) : n(n), cols(cols) {
    PhiloxStream random(3, 0);
    for (std::int64_t e = 0; e < n * cols; ++e) X.push_back(static_cast<float>(mean + random.uniform()));
    for (std::int64_t j = 0; j < cols; ++j) {
      shift.push_back(mean + 0.5 + 0.01 * random.uniform()), scale.push_back(0.5 + random.uniform());
    }
    for (std::int64_t i = 0; i < n / 2 + 1; ++i) {
      chosen.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(n))));
      weights.push_back(i % 7 == 3 ? 0.0 : random.uniform()), y.push_back(random.uniform() - 0.5);
    }
  }
  std::vector<double> row(std::size_t i) const {
    std::vector<double> out;
    for (std::size_t j = 0; j < shift.size(); ++j) {
      const auto x = static_cast<double>(X[static_cast<std::size_t>(chosen[i]) * shift.size() + j]);
      out.push_back(weights[i] * ((x - shift[j]) * scale[j]));
    }
    out.push_back(weights[i] * y[i]);
    return out;
  }
};

// The same on a device.
template <class T>
struct DeviceRows {
  Device& device;
  Matrix<T> X;
  Matrix<double> Y;
  Array<std::int32_t> chosen;
  Array<double> shift, scale, weights;

  DeviceRows(Device& device, const Rows& rows)
      : device(device),
        X(device.memory(), rows.n, rows.cols, std::vector<T>(rows.X.begin(), rows.X.end())),
        Y(device.memory(), static_cast<std::int64_t>(rows.y.size()), 1, rows.y),
        chosen(device.memory(), rows.chosen),
        shift(device.memory(), rows.shift),
        scale(device.memory(), rows.scale),
        weights(device.memory(), rows.weights) {}
  Design<T> design() const {
    return {.X = X.view(),
            .rows = chosen.view(),
            .shift = shift.view(),
            .scale = scale.view(),
            .weights = weights.view(),
            .Y = Y.view()};
  }
  std::vector<double> gram() const {
    Matrix<double> G(device.memory(), X.cols() + 1, X.cols() + 1);
    device.ops<T>().design->gram(design(), G.view());
    return G.to_host();
  }
  std::vector<double> slopes(const std::vector<double>& coef) const {
    const Array<double> w(device.memory(), coef);
    Array<double> found(device.memory(), X.cols());
    device.ops<T>().design->slopes(design(), w.view(), found.view());
    return found.to_host();
  }
};

template <class T = float>
std::vector<double> gram_on(const char* gpu, const Rows& rows, std::uint64_t seed = 1) {
  const auto device = make_cuda_device({.seed = seed, .model = &gpu_model(gpu)});
  return DeviceRows<T>(*device, rows).gram();
}

std::vector<double> slopes_on(const char* gpu, const Rows& rows, const std::vector<double>& coef,
                              std::uint64_t seed = 1) {
  const auto device = make_cuda_device({.seed = seed, .model = &gpu_model(gpu)});
  return DeviceRows<float>(*device, rows).slopes(coef);
}

std::vector<double> coefs(std::int64_t n) {
  PhiloxStream random(4, 0);
  std::vector<double> values;
  for (std::int64_t j = 0; j < n; ++j) values.push_back(random.uniform() - 0.5);
  return values;
}

// The largest error of a Gram matrix, relative to the sum of the sizes of its terms.
double error_of(const std::vector<double>& found, const Rows& rows) {
  const auto p = static_cast<std::size_t>(rows.cols + 1);
  std::vector<long double> exact(p * p), sizes(p * p);
  for (std::size_t i = 0; i < rows.chosen.size(); ++i) {
    const std::vector<double> row = rows.row(i);
    for (std::size_t e = 0; e < p * p; ++e) {
      const long double term = static_cast<long double>(row[e / p]) * static_cast<long double>(row[e % p]);
      exact[e] += term, sizes[e] += std::abs(term);
    }
  }
  double worst = 0;
  for (std::size_t e = 0; e < p * p; ++e)
    worst = std::max(worst, static_cast<double>(std::abs(static_cast<long double>(found[e]) - exact[e]) / sizes[e]));
  return worst;
}

// The same of slopes.
double slope_error_of(const std::vector<double>& found, const Rows& rows, const std::vector<double>& coef) {
  const std::size_t d = coef.size();
  std::vector<long double> exact(d), sizes(d);
  for (std::size_t i = 0; i < rows.chosen.size(); ++i) {
    const std::vector<double> row = rows.row(i);
    long double residual = row[d], size = std::abs(row[d]);
    for (std::size_t j = 0; j < d; ++j) {
      const long double term = static_cast<long double>(row[j]) * static_cast<long double>(coef[j]);
      residual -= term, size += std::abs(term);
    }
    for (std::size_t j = 0; j < d; ++j) exact[j] += row[j] * residual, sizes[j] += std::abs(row[j]) * size;
  }
  double worst = 0;
  for (std::size_t j = 0; j < d; ++j)
    worst = std::max(worst, static_cast<double>(std::abs(static_cast<long double>(found[j]) - exact[j]) / sizes[j]));
  return worst;
}

class TallRows : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(TallRows, LoseFewBitsInGramMatrices) {
  const Rows rows(GetParam().first, GetParam().second);
  EXPECT_LE(error_of(gram_on("A100", rows), rows), kDoubles);
  for (const char* gpu : {"T4", "L4"}) EXPECT_LE(error_of(gram_on(gpu, rows), rows), kPairs) << gpu;
}

TEST_P(TallRows, LoseFewBitsInSlopes) {
  const Rows rows(GetParam().first, GetParam().second);
  const std::vector<double> coef = coefs(rows.cols);
  EXPECT_LE(slope_error_of(slopes_on("A100", rows, coef), rows, coef), kDoubles);
  for (const char* gpu : {"T4", "L4"}) EXPECT_LE(slope_error_of(slopes_on(gpu, rows, coef), rows, coef), kPairs) << gpu;
}

INSTANTIATE_TEST_SUITE_P(Shapes, TallRows,
                         testing::Values(std::pair{1, 1}, std::pair{300, 3}, std::pair{40001, 5}, std::pair{9001, 16},
                                         std::pair{3001, 64}, std::pair{1201, 128}));

TEST(FewDoubles, SumsAreTheSameInAnyOrderOfBlocks) {
  const Rows rows(3000, 16);
  const std::vector<double> gram = gram_on("T4", rows), coef = coefs(16), slopes = slopes_on("T4", rows, coef);
  EXPECT_EQ(gram_on("T4", rows, 2), gram);
  EXPECT_EQ(gram_on("L4", rows, 3), gram);
  EXPECT_EQ(slopes_on("L4", rows, coef, 2), slopes);
  EXPECT_NE(gram_on("A100", rows), gram) << "no pairs on a T4";
  EXPECT_NE(slopes_on("A100", rows, coef), slopes) << "no pairs on a T4";
}

TEST(FewDoubles, AFarMeanCostsNoBits) {
  const Rows rows(3000, 16, 1e4);
  EXPECT_LE(error_of(gram_on("T4", rows), rows), kPairs);
}

TEST(FewDoubles, NumbersBeyondFloatsAreMultipliedInDouble) {
  const auto expect_same = [](const Rows& rows, const std::vector<double>& coef, const char* what) {
    EXPECT_EQ(gram_on("T4", rows), gram_on("A100", rows)) << what;
    EXPECT_EQ(slopes_on("T4", rows, coef), slopes_on("A100", rows, coef)) << what;
  };
  const Rows usual(700, 5);
  Rows large = usual, small = usual, far = usual, constant = usual;
  for (double& v : large.y) v *= 1e200;
  for (double& v : small.scale) v = 1e-30;
  for (double& v : far.shift) v = 1e300;
  for (double& v : constant.y) v = 0;
  expect_same(large, coefs(5), "targets");
  expect_same(small, coefs(5), "scale");
  expect_same(far, coefs(5), "shift");
  expect_same(constant, coefs(5), "zeros, which may have been lost");
  const std::vector<double> huge(5, 1e200);
  EXPECT_EQ(slopes_on("T4", usual, huge), slopes_on("A100", usual, huge));
}

TEST(FewDoubles, DoublesAreMultipliedInDouble) {
  const Rows rows(700, 5);
  EXPECT_EQ(gram_on<double>("T4", rows), gram_on<double>("A100", rows));
}

// The loss, the gradient, and the derivatives of the rows that the gradient is made of.
struct Logistic {
  double loss = 0;
  std::vector<float> gradient, derivatives;
};

Logistic logistic_on(const char* gpu, const Rows& rows) {
  const auto device = make_cuda_device({.model = &gpu_model(gpu)});
  Memory& memory = device->memory();
  const Matrix<float> X(memory, rows.n, rows.cols, rows.X),
      B(memory, 1, rows.cols, std::vector<float>(static_cast<std::size_t>(rows.cols), 0.1F));
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < rows.n; ++i) classes.push_back(rows.X[static_cast<std::size_t>(i * rows.cols)] > 3.5F);
  const Array<std::int32_t> y(memory, classes);
  Matrix<float> Z(memory, rows.n, 2), G(memory, 1, rows.cols);
  Z.zero();
  Logistic found;
  found.loss = device->f32().logistic->gradient(X.view(), B.view(), {}, y.view(), {}, Z.view(), G.view());
  found.gradient = G.to_host();
  const std::vector<float> z = Z.to_host();
  for (std::size_t i = 1; i < z.size(); i += 2) found.derivatives.push_back(z[i]);
  return found;
}

TEST(FewDoubles, GradientsOfLogisticLossAreRoundedAsThoseOfDoubles) {
  for (const std::int64_t cols : {3, 16, 31}) {
    const Rows rows(30001, cols);
    const Logistic found = logistic_on("T4", rows), doubles = logistic_on("A100", rows);
    EXPECT_EQ(found.loss, doubles.loss);
    EXPECT_EQ(found.derivatives, doubles.derivatives);
    for (std::size_t j = 0; j < found.gradient.size(); ++j) {
      long double sum = 0;
      for (std::size_t i = 0; i < found.derivatives.size(); ++i)
        sum += static_cast<long double>(found.derivatives[i]) * rows.X[i * found.gradient.size() + j];
      EXPECT_EQ(found.gradient[j], static_cast<float>(sum)) << j;
    }
  }
}

struct Moments {
  std::vector<double> mean, variance;
  bool operator==(const Moments&) const = default;
};

Moments moments_on(const char* gpu, std::int64_t n, std::int64_t cols, const std::vector<float>& X) {
  const auto device = make_cuda_device({.model = &gpu_model(gpu)});
  const Matrix<float> table(device->memory(), n, cols, X);
  Array<double> mean(device->memory(), cols), variance(device->memory(), cols);
  device->f32().tables->column_moments(table.view(), {}, {}, mean.view(), variance.view());
  return {mean.to_host(), variance.to_host()};
}

std::vector<float> uniform_columns(std::int64_t n, std::int64_t cols, double mean, double size) {
  PhiloxStream random(6, 0);
  std::vector<float> X;
  for (std::int64_t e = 0; e < n * cols; ++e) X.push_back(static_cast<float>(size * (mean + random.uniform())));
  return X;
}

TEST(FewDoubles, MomentsOfColumnsLoseFewBits) {
  constexpr std::int64_t kRows = 20001, kCols = 3;
  for (const double mean : {0.0, 7.0, 1e4}) {
    const std::vector<float> X = uniform_columns(kRows, kCols, mean, 1);
    const Moments found = moments_on("T4", kRows, kCols, X);
    EXPECT_NE(found, moments_on("A100", kRows, kCols, X)) << "no pairs on a T4";
    for (std::size_t j = 0; j < kCols; ++j) {
      long double sum = 0, squares = 0;
      for (std::size_t e = j; e < X.size(); e += kCols) sum += X[e];
      const long double exact = sum / kRows;
      for (std::size_t e = j; e < X.size(); e += kCols) squares += (X[e] - exact) * (X[e] - exact);
      EXPECT_NEAR(found.mean[j], static_cast<double>(exact), kPairs + 0x1p-52 * mean);
      EXPECT_NEAR(found.variance[j], static_cast<double>(squares / kRows), kPairs);
    }
  }
}

TEST(FewDoubles, MomentsBeyondFloatsAreThoseOfDoubles) {
  constexpr std::int64_t kRows = 700, kCols = 2;
  for (const double size : {1e-25, 1e25, 0.0}) {
    const std::vector<float> X = uniform_columns(kRows, kCols, -0.5, size);
    EXPECT_EQ(moments_on("T4", kRows, kCols, X).variance[0] > 0, size > 0);
    EXPECT_NEAR(moments_on("T4", kRows, kCols, X).variance[0] / (size * size + 1e-300),
                moments_on("A100", kRows, kCols, X).variance[0] / (size * size + 1e-300), kPairs);
  }
  std::vector<float> far(kRows * kCols, 3e38F);   // deviations from the first row are beyond float's range
  far[0] = far[1] = -3e38F;
  EXPECT_EQ(moments_on("T4", kRows, kCols, far), moments_on("A100", kRows, kCols, far));
}

// Means and variances of two classes, one after the other.
std::vector<double> class_moments_on(const char* gpu, std::int64_t n, std::int64_t cols, const std::vector<float>& X) {
  constexpr std::int64_t kClasses = 3;   // the last one is in the last row alone
  const auto device = make_cuda_device({.model = &gpu_model(gpu)});
  Memory& memory = device->memory();
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < n; ++i) classes.push_back(i + 1 == n ? 2 : i % 3 == 0 ? 1 : 0);
  const Matrix<float> table(memory, n, cols, X);
  const Array<std::int32_t> y(memory, classes);
  Array<double> count(memory, kClasses);
  Matrix<double> mean(memory, kClasses, cols), variance(memory, kClasses, cols);
  device->f32().bayes->class_moments(table.view(), {}, y.view(), {}, count.view(), mean.view(), variance.view());
  std::vector<double> found = mean.to_host();
  for (const double v : variance.to_host()) found.push_back(v);
  return found;
}

TEST(FewDoubles, MomentsOfClassesLoseFewBits) {
  constexpr std::int64_t kRows = 20001, kCols = 70;
  for (const double mean : {0.0, 1e4}) {
    const std::vector<float> X = uniform_columns(kRows, kCols, mean, 1);
    const std::vector<double> found = class_moments_on("T4", kRows, kCols, X),
                              doubles = class_moments_on("A100", kRows, kCols, X);
    EXPECT_NE(found, doubles) << "no pairs on a T4";
    for (std::size_t e = 0; e < found.size(); ++e) ASSERT_NEAR(found[e], doubles[e], kPairs + 0x1p-51 * mean) << e;
  }
}

TEST(FewDoubles, MomentsOfClassesBeyondFloatsAreThoseOfDoubles) {
  constexpr std::int64_t kRows = 700, kCols = 3;
  for (const double size : {1e-25, 1e25}) {
    const std::vector<float> X = uniform_columns(kRows, kCols, -0.5, size);
    EXPECT_EQ(class_moments_on("T4", kRows, kCols, X), class_moments_on("A100", kRows, kCols, X)) << size;
  }
}

// Rows of all sizes, whole numbers, zeros of both signs, and some that are no numbers.
std::vector<float> rows_to_divide(std::int64_t n, std::int64_t cols) {
  PhiloxStream random(5, static_cast<std::uint64_t>(cols));
  std::vector<float> X;
  for (std::int64_t i = 0; i < n; ++i) {
    const int of_row = i % 5 == 0 ? static_cast<int>(random.below(200)) - 100 : 0;
    for (std::int64_t j = 0; j < cols; ++j) {
      const int of_cell = of_row + (i % 3 == 0 ? static_cast<int>(random.below(40)) - 20 : 0);
      const auto any = static_cast<float>(std::ldexp(random.uniform() - 0.5, of_cell));
      X.push_back(i % 11 == 0 ? static_cast<float>(random.below(9)) - 4 : any);
    }
    if (i % 97 == 0) X[static_cast<std::size_t>(i * cols)] = std::numeric_limits<float>::infinity();
    if (i % 89 == 0) X[static_cast<std::size_t>(i * cols)] = std::numeric_limits<float>::quiet_NaN();
    if (i % 101 == 0) X[static_cast<std::size_t>(i * cols)] = -0.0F;
  }
  return X;
}

std::vector<std::uint32_t> normalized_on(const char* gpu, RowNorm norm, std::int64_t cols) {
  constexpr std::int64_t kRows = 30000;   // of which some lie next to the middle of two floats
  const auto device = make_cuda_device({.model = &gpu_model(gpu)});
  Matrix<float> X(device->memory(), kRows, cols, rows_to_divide(kRows, cols));
  device->f32().maps->normalize_rows(norm, X.view());
  std::vector<std::uint32_t> bits;
  for (const float value : X.to_host()) bits.push_back(std::isnan(value) ? 0 : std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST(FewDoubles, RowsDividedByTheirNormHaveTheBitsOfDoubles) {
  for (const RowNorm norm : {RowNorm::kL1, RowNorm::kL2, RowNorm::kMax}) {
    for (const std::int64_t cols : {1, 3, 16})
      EXPECT_TRUE(normalized_on("T4", norm, cols) == normalized_on("A100", norm, cols)) << cols << " columns";
  }
}

}   // namespace
}   // namespace kedge::engine
