// Parity of the row-wise ops.
#include <limits>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kSum = 1e-12;   // sums in double
constexpr double kPrecise = std::numeric_limits<double>::epsilon() / 2;   // a mean rounded once, stated in ops/
template <class T>
constexpr double kRounded = std::numeric_limits<T>::epsilon();
template <class T>
constexpr double kExponential = 8 * std::numeric_limits<T>::epsilon();   // a few ulp of exp, then of the quotient

template <class T>
void check_add_to_rows(Probe<T>& probe) {
  Table z = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  const Table v = probe.numbers(1, z.cols, 2);
  Padded<T> device(probe.memory(), z);
  probe.ops().rows->add_to_rows(probe.upload(std::vector<T>(v.values.begin(), v.values.end())).view(), device.view());
  for (std::int64_t i = 0; i < z.rows; ++i) {
    for (std::int64_t j = 0; j < z.cols; ++j) z.at(i, j) += v.at(0, j);
  }
  probe.expect_near(device.to_table(), z, 1, "Z");
}

template <class T>
void check_column_sums(Probe<T>& probe) {
  const Table z = probe.numbers(probe.shape().rows, probe.shape().cols, 1, 0.5);
  Array<double> sums(probe.memory(), z.cols);
  probe.ops().rows->column_sums(Padded<T>(probe.memory(), z).view(), sums.view());
  std::vector<double> expected(static_cast<std::size_t>(z.cols));
  for (std::int64_t i = 0; i < z.rows; ++i) {
    for (std::int64_t j = 0; j < z.cols; ++j) expected[static_cast<std::size_t>(j)] += z.at(i, j);
  }
  probe.expect_near(sums, expected, 8 * static_cast<double>(z.rows + 1), "sums");
}

// Sums of multiples of 1/8 with weights in [0.25, 1.25): exact in 64 bits but for the weights' last ones. One column
// hides small numbers behind large ones that cancel.
template <class T>
void check_precise_means(Probe<T>& probe) {
  Table z = probe.numbers(probe.shape().rows, probe.shape().cols, 1, 0.5);
  for (std::int64_t i = 0; i + 1 < z.rows; i += 4) z.at(i, 0) = 0x1p40, z.at(i + 1, 0) = -0x1p40;
  for (const bool is_weighted : {false, true}) {
    std::vector<double> weights = is_weighted ? probe.weights(z.rows) : std::vector<double>();
    for (double& w : weights) w = std::round(w * 1024) / 1024;   // so that large numbers cancel where weights are equal
    for (std::size_t i = 0; i + 1 < weights.size(); i += 4) weights[i + 1] = weights[i];
    Array<double> mean(probe.memory(), z.cols), total(probe.memory(), 1);
    probe.ops().rows->precise_means(Padded<T>(probe.memory(), z).view(), probe.upload(weights).view(), mean.view(),
                                    total.view());
    long double all = 0;
    std::vector<long double> sums(static_cast<std::size_t>(z.cols), 0.0L), sizes = sums;
    for (std::int64_t i = 0; i < z.rows; ++i) {
      const long double w = is_weighted ? weights[static_cast<std::size_t>(i)] : 1.0;
      all += w;
      for (std::int64_t j = 0; j < z.cols; ++j) {
        sums[static_cast<std::size_t>(j)] += w * static_cast<long double>(z.at(i, j));
        sizes[static_cast<std::size_t>(j)] += w * std::abs(static_cast<long double>(z.at(i, j)));
      }
    }
    std::vector<double> expected;
    for (const long double sum : sums) expected.push_back(static_cast<double>(sum / all));
    Array<double> summed(probe.memory(), z.cols);
    probe.ops().rows->weighted_sums(Padded<T>(probe.memory(), z).view(), probe.upload(weights).view(), summed.view());
    const std::vector<double> got = summed.to_host();
    for (std::size_t j = 0; j < got.size(); ++j)   // n eps of the sum of the sizes
      probe.expect_near(got[j], static_cast<double>(sums[j]),
                        2 * static_cast<double>(z.rows) * static_cast<double>(sizes[j]), "weighted sums");
    probe.expect_near(mean, expected, 8, is_weighted ? "weighted means" : "means");
    probe.expect_near(total, {static_cast<double>(all)}, static_cast<double>(z.rows), "total");
  }
}

template <class T>
void check_row_squared_norms(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  Array<T> norms(probe.memory(), x.rows);
  probe.ops().rows->row_squared_norms(Padded<T>(probe.memory(), x).view(), norms.view());
  std::vector<double> expected(static_cast<std::size_t>(x.rows));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) expected[static_cast<std::size_t>(i)] += x.at(i, j) * x.at(i, j);
  }
  probe.expect_near(norms, expected, 64 * static_cast<double>(x.cols), "norms");
}

template <class T>
void check_softmax_rows(Probe<T>& probe) {
  Table z = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  if (z.rows > 1) z.at(1, 0) = 1e5;   // must not overflow
  Padded<T> device(probe.memory(), z);
  probe.ops().rows->softmax_rows(device.view());
  for (std::int64_t i = 0; i < z.rows; ++i) {
    double top = z.at(i, 0), sum = 0;
    for (std::int64_t j = 0; j < z.cols; ++j) top = std::max(top, z.at(i, j));
    for (std::int64_t j = 0; j < z.cols; ++j) sum += std::exp(z.at(i, j) - top);
    for (std::int64_t j = 0; j < z.cols; ++j) z.at(i, j) = std::exp(z.at(i, j) - top) / sum;
  }
  probe.expect_near(device.to_table(), z, 1, "softmax");
}

template <class T>
void check_argmax_rows(Probe<T>& probe) {   // multiples of 1/8: many ties, of which the first counts
  Table z = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  for (double& v : z.values) v = std::floor(v / 4);
  Array<std::int32_t> out(probe.memory(), z.rows);
  probe.ops().rows->argmax_rows(Padded<T>(probe.memory(), z).view(), out.view());
  std::vector<double> expected;
  for (std::int64_t i = 0; i < z.rows; ++i) {
    const auto row = z.values.begin() + static_cast<std::ptrdiff_t>(i * z.cols);
    expected.push_back(static_cast<double>(std::max_element(row, row + static_cast<std::ptrdiff_t>(z.cols)) - row));
  }
  probe.expect_near(out, expected, 1, "argmax");
}

// The logistic loss of margins, which become its derivative.
double differentiate(Table& z, const std::vector<std::int32_t>& y, const std::vector<double>& w) {
  double loss = 0;
  for (std::int64_t i = 0; i < z.rows; ++i) {
    double top = -1e300, sum = 0;
    for (std::int64_t j = 0; j < z.cols; ++j) top = std::max(top, z.at(i, j));
    for (std::int64_t j = 0; j < z.cols; ++j) sum += std::exp(z.at(i, j) - top);
    const double weight = w[static_cast<std::size_t>(i)];
    const std::int32_t own = y[static_cast<std::size_t>(i)];
    loss += weight * (top + std::log(sum) - z.at(i, own));
    for (std::int64_t j = 0; j < z.cols; ++j) z.at(i, j) = weight * (std::exp(z.at(i, j) - top) / sum - (j == own));
  }
  return loss;
}

template <class T>
void check_logistic_loss(Probe<T>& probe) {
  Table z = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  const Table b = probe.numbers(1, z.cols, 2);
  const auto y = probe.codes(z.rows, static_cast<int>(z.cols), 3);
  const auto w = probe.weights(z.rows);
  Padded<T> device(probe.memory(), z);
  const double loss =
      probe.ops().logistic->loss(device.view(), probe.upload(std::vector<T>(b.values.begin(), b.values.end())).view(),
                                 probe.upload(y).view(), probe.upload(w).view());
  for (std::int64_t i = 0; i < z.rows; ++i)
    for (std::int64_t j = 0; j < z.cols; ++j) z.at(i, j) += b.at(0, j);
  const double expected = differentiate(z, y, w);
  probe.expect_near(device.to_table(), z, 2, "gradient");
  probe.expect_near(loss, expected, 32 * static_cast<double>(z.rows + 1), "loss");
  if (z.rows == 0) return;
  Padded<T> again(probe.memory(), probe.numbers(z.rows, z.cols, 1));   // without intercepts and weights: each counts 1
  const double plain = probe.ops().logistic->loss(again.view(), {}, probe.upload(y).view(), {});
  EXPECT_TRUE(std::isfinite(plain));
  EXPECT_GE(plain, 0);
}

// The loss and gradient of X and B (m x d; with two classes the first has no row of B, and the margin 0), shape: n x d, k classes.
template <class T>
void check_logistic_gradient(Probe<T>& probe) {
  const auto [n, d, k] = probe.shape();
  const std::int64_t m = k == 2 ? 1 : k;
  const Table x = probe.numbers(n, d, 1), b = probe.numbers(1, k, 3);
  Table B = probe.numbers(m, d, 2);
  for (double& v : B.values) v /= 64;
  const auto y = probe.codes(n, k, 4);
  const auto w = probe.weights(n);
  Padded<T> Z(probe.memory(), Table(n, k)), G(probe.memory(), m, d);
  const double loss =
      probe.ops().logistic->gradient(Padded<T>(probe.memory(), x).view(), Padded<T>(probe.memory(), B).view(),
                                     probe.upload(std::vector<T>(b.values.begin(), b.values.end())).view(),
                                     probe.upload(y).view(), probe.upload(w).view(), Z.view(), G.view());
  Table z(n, k), gradient(m, d);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < k; ++c) {
      for (std::int64_t j = 0; c >= k - m && j < d; ++j) z.at(i, c) += x.at(i, j) * B.at(c - (k - m), j);
      z.at(i, c) += b.at(0, c);
    }
  const double expected = differentiate(z, y, w);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < m; ++c)
      for (std::int64_t j = 0; j < d; ++j) gradient.at(c, j) += z.at(i, c + k - m) * x.at(i, j);
  const double columns = static_cast<double>(d + 2), rows = static_cast<double>(n + 1);   // margins are off by d roundings, and so is what follows
  probe.expect_near(Z.to_table(), z, 4 * columns, "Z");
  probe.expect_near(G.to_table(), gradient, 16 * columns * rows, "G");
  probe.expect_near(loss, expected, 32 * columns * rows, "loss");
}

template <class T>
void check_logistic_curvature(Probe<T>& probe) {
  const auto [n, k, unused] = probe.shape();
  const Table z = probe.numbers(n, k, 1), b = probe.numbers(1, k, 2);
  const auto w = probe.weights(n);
  Table expected(n, k == 2 ? 1 : k * (k + 1) / 2);
  for (std::int64_t i = 0; i < n; ++i) {
    double top = -1e300, sum = 0;
    for (std::int64_t j = 0; j < k; ++j) top = std::max(top, z.at(i, j) + b.at(0, j));
    std::vector<double> p(static_cast<std::size_t>(k));
    for (std::int64_t j = 0; j < k; ++j) sum += p[static_cast<std::size_t>(j)] = std::exp(z.at(i, j) + b.at(0, j) - top);
    for (std::int64_t a = 0, e = 0; a < k; ++a) {
      for (std::int64_t c = a; c < k; ++c, ++e) {
        if (k == 2 && c == a) continue;
        const double share = p[static_cast<std::size_t>(a)] / sum, other = p[static_cast<std::size_t>(c)] / sum;
        expected.at(i, k == 2 ? 0 : e) = w[static_cast<std::size_t>(i)] * share * (a == c ? 1 - share : other);
      }
    }
  }
  Padded<double> got(probe.memory(), n, expected.cols);
  probe.ops().logistic->curvature(Padded<T>(probe.memory(), z).view(),
                                  probe.upload(std::vector<T>(b.values.begin(), b.values.end())).view(),
                                  probe.upload(w).view(), got.view());
  probe.expect_near(got.to_table(), expected, 2, "curvature");
}

}  // namespace

template <class T>
std::vector<Row<T>> row_rows() {
  return {
      {"add_to_rows", kExact, &check_add_to_rows<T>, tall_shapes()},
      {"column_sums", kSum, &check_column_sums<T>, tall_shapes()},
      {"precise_means", kPrecise, &check_precise_means<T>, tall_shapes()},
      {"row_squared_norms", kRounded<T>, &check_row_squared_norms<T>, tall_shapes()},
      {"softmax_rows", kExponential<T>, &check_softmax_rows<T>, tall_shapes()},
      {"argmax_rows", kExact, &check_argmax_rows<T>, tall_shapes()},
      {"logistic_loss", kExponential<T>, &check_logistic_loss<T>, tall_shapes()},
      {"logistic_gradient",
       kExponential<T>,
       &check_logistic_gradient<T>,
       {{1, 1, 2},
        {7, 3, 3},
        {300, 20, 2},
        {700, 16, 2},
        {3000, 3, 2},
        {200, 32, 2},
        {150, 33, 2},
        {130, 5, 10},
        {2100, 33, 5},
        {40, 60, 3},
        {300, 7, 20},
        {90, 40, 16},
        {0, 4, 3}}},
      {"logistic_curvature",
       kExponential<T>,
       &check_logistic_curvature<T>,
       {{1, 2, 0}, {300, 2, 0}, {1, 3, 0}, {130, 5, 0}, {40, 12, 0}, {0, 3, 0}}},
  };
}

template std::vector<Row<float>> row_rows();
template std::vector<Row<double>> row_rows();

}  // namespace kedge::parity
