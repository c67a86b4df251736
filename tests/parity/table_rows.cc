// Parity of the ops on tables and of naive Bayes' moments.
#include <limits>
#include <numbers>

#include "tests/parity/probe.h"

namespace kedge::parity {

std::vector<Shape> tall_shapes() { return {{0, 3, 2}, {1, 1, 1}, {1, 5, 2}, {7, 1, 2}, {33, 17, 3}, {257, 64, 10}, {1030, 33, 5}, {300, 130, 2}}; }
std::vector<Shape> nonempty(std::vector<Shape> shapes) {
  std::erase_if(shapes, [](const Shape& s) { return s.rows == 0; });
  return shapes;
}

namespace {

constexpr double kExact = 0;
constexpr double kMoments = 1e-12;      // stated in ops/, relative to the largest square
constexpr double kPlanted = 0.5;        // positions are integers
template <class T>
constexpr double kRounded = std::numeric_limits<T>::epsilon();   // one rounding of a double result

template <class T>
void check_find_nonfinite(Probe<T>& probe) {
  Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  EXPECT_FALSE(
      probe.ops().tables->find_nonfinite(Padded<T>(probe.memory(), x).view()).has_value());   // what lies in the
                                                                                              // padding does not count
  if (x.rows == 0) return;
  const std::int64_t row = x.rows / 2, col = x.cols - 1;
  x.at(row, col) = std::numeric_limits<double>::infinity();
  x.at(x.rows - 1, 0) = x.rows - 1 == row && x.cols == 1 ? x.at(row, col) : std::numeric_limits<double>::quiet_NaN();
  const std::int64_t first = x.rows - 1 == row ? 0 : col;
  const auto cell = probe.ops().tables->find_nonfinite(Padded<T>(probe.memory(), x).view());
  ASSERT_TRUE(cell.has_value());
  probe.expect_near(static_cast<double>(cell->row), static_cast<double>(row), kPlanted, "row");
  probe.expect_near(static_cast<double>(cell->col), static_cast<double>(first), kPlanted, "column");
}

// Half of the rows, some twice.
template <class T>
std::vector<std::int32_t> some_rows(Probe<T>& probe, std::int64_t n) {
  return probe.codes(n / 2 + 1, static_cast<int>(n), 17);
}

template <class T>
void check_gather(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1, 3);
  const Padded<T> device(probe.memory(), x);
  std::vector<double> shift(static_cast<std::size_t>(x.cols)), scale(shift.size());
  for (std::size_t j = 0; j < shift.size(); ++j) shift[j] = 0.3 * static_cast<double>(j), scale[j] = 1 / (1.5 + static_cast<double>(j));
  const auto shifts = probe.upload(shift), scales = probe.upload(scale);
  Padded<T> all(probe.memory(), x.rows, x.cols);
  probe.ops().tables->gather(device.view(), {}, shifts.view(), scales.view(), all.view());
  Table expected = x;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j)
      expected.at(i, j) = static_cast<double>(static_cast<T>((x.at(i, j) - shift[static_cast<std::size_t>(j)]) * scale[static_cast<std::size_t>(j)]));
  }
  probe.expect_near(all.to_table(), expected, 1, "all rows");
  if (x.rows == 0) return;
  const auto rows = some_rows(probe, x.rows);
  const auto chosen = probe.upload(rows);
  Padded<T> some(probe.memory(), chosen.size(), x.cols);
  probe.ops().tables->gather(device.view(), chosen.view(), {}, {}, some.view());
  Table picked(chosen.size(), x.cols);
  for (std::int64_t i = 0; i < picked.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) picked.at(i, j) = x.at(rows[static_cast<std::size_t>(i)], j);
  }
  probe.expect_near(some.to_table(), picked, 1, "some rows");
}

void reference_moments(const Table& x, const std::vector<std::int32_t>& rows, const std::vector<double>& w, std::vector<double>& mean,
                       std::vector<double>& variance) {
  for (std::int64_t j = 0; j < x.cols; ++j) {
    long double total = 0, sum = 0, squares = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) total += w[i], sum += w[i] * x.at(rows[i], j);
    const long double m = sum / total;
    for (std::size_t i = 0; i < rows.size(); ++i) squares += w[i] * (x.at(rows[i], j) - m) * (x.at(rows[i], j) - m);
    mean.push_back(static_cast<double>(m)), variance.push_back(static_cast<double>(squares / total));
  }
}

template <class T>
void check_column_moments(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1, 40);
  const double scale = 48 * 48;   // the largest square
  const Padded<T> device(probe.memory(), x);
  Array<double> mean(probe.memory(), x.cols), variance(probe.memory(), x.cols);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(x.rows));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
  std::vector<double> ones(rows.size(), 1.0), m, v;
  reference_moments(x, rows, ones, m, v);
  probe.ops().tables->column_moments(device.view(), {}, {}, mean.view(), variance.view());
  probe.expect_near(mean, m, scale, "mean"), probe.expect_near(variance, v, scale, "variance");
  Array<double> alone(probe.memory(), x.cols);
  probe.ops().tables->column_moments(device.view(), {}, {}, alone.view(), {});
  probe.expect_near(alone, m, scale, "mean alone");
  if (x.rows == 0) return;
  rows = some_rows(probe, x.rows);
  const auto weights = probe.weights(static_cast<std::int64_t>(rows.size()));
  m.clear(), v.clear();
  reference_moments(x, rows, weights, m, v);
  probe.ops().tables->column_moments(device.view(), probe.upload(rows).view(), probe.upload(weights).view(),
                                     mean.view(), variance.view());
  probe.expect_near(mean, m, scale, "weighted mean"), probe.expect_near(variance, v, scale, "weighted variance");
}

template <class T>
void check_constant_column(Probe<T>& probe) {   // no rounding may turn a constant column into one that varies
  Table x(probe.shape().rows, probe.shape().cols);
  for (double& value : x.values) value = static_cast<double>(T(0.1));
  Array<double> mean(probe.memory(), x.cols), variance(probe.memory(), x.cols);
  probe.ops().tables->column_moments(Padded<T>(probe.memory(), x).view(), {}, {}, mean.view(), variance.view());
  probe.expect_near(mean, std::vector<double>(static_cast<std::size_t>(x.cols), static_cast<double>(T(0.1))), 1, "mean");
  probe.expect_near(variance, std::vector<double>(static_cast<std::size_t>(x.cols), 0.0), 1, "variance");
}

template <class T>
void check_column_range(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  Array<T> low(probe.memory(), x.cols), high(probe.memory(), x.cols);
  probe.ops().tables->column_range(Padded<T>(probe.memory(), x).view(), {}, low.view(), high.view());
  std::vector<double> least(static_cast<std::size_t>(x.cols), std::numeric_limits<double>::infinity()), most;
  for (const double v : least) most.push_back(-v);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      least[static_cast<std::size_t>(j)] = std::min(least[static_cast<std::size_t>(j)], x.at(i, j));
      most[static_cast<std::size_t>(j)] = std::max(most[static_cast<std::size_t>(j)], x.at(i, j));
    }
  }
  probe.expect_near(low, least, 1, "minimum"), probe.expect_near(high, most, 1, "maximum");
}

template <class T>
void check_clip(Probe<T>& probe) {
  Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  Padded<T> device(probe.memory(), x);
  probe.ops().tables->clip(device.view(), T(-2.5), T(3));
  for (double& v : x.values) v = std::clamp(v, -2.5, 3.0);
  probe.expect_near(device.to_table(), x, 1, "clipped");
}

template <class T>
void check_class_moments(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1, 10);
  const int classes = probe.shape().k;
  const auto y = probe.codes(x.rows, classes, 3);
  const auto weights = probe.weights(x.rows);
  Array<double> count(probe.memory(), classes);
  Padded<double> mean(probe.memory(), classes, x.cols), variance(probe.memory(), classes, x.cols);
  // The table holds the rows backwards, and one more: it must be read by the rows.
  Table backwards(x.rows + 1, x.cols);
  std::vector<std::int32_t> selected;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    selected.push_back(static_cast<std::int32_t>(x.rows - i));
    for (std::int64_t j = 0; j < x.cols; ++j) backwards.at(x.rows - i, j) = x.at(i, j);
  }
  const Padded<T> all(probe.memory(), x), some(probe.memory(), backwards);
  Table expected_mean(classes, x.cols), expected_variance(classes, x.cols);
  std::vector<double> expected_count;
  for (std::int32_t c = 0; c < classes; ++c) {
    std::vector<std::int32_t> rows;
    std::vector<double> w, m, v;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (y[i] == c) rows.push_back(static_cast<std::int32_t>(i)), w.push_back(weights[i]);
    double total = 0;
    for (const double value : w) total += value;
    expected_count.push_back(total);
    reference_moments(x, rows, w, m, v);
    for (std::int64_t j = 0; j < x.cols; ++j)
      expected_mean.at(c, j) = m[static_cast<std::size_t>(j)], expected_variance.at(c, j) = v[static_cast<std::size_t>(j)];
  }
  for (const bool by_rows : {false, true}) {
    const Array<std::int32_t> rows = probe.upload(selected);
    probe.ops().bayes->class_moments(by_rows ? some.view() : all.view(),
                                     by_rows ? rows.view() : VectorView<const std::int32_t>(), probe.upload(y).view(),
                                     probe.upload(weights).view(), count.view(), mean.view(), variance.view());
    probe.expect_near(count, expected_count, static_cast<double>(x.rows) + 1, "count");
    probe.expect_near(mean.to_table(), expected_mean, 18 * 18, "mean");
    probe.expect_near(variance.to_table(), expected_variance, 18 * 18, "variance");
  }
}

template <class T>
void check_gaussian_log_likelihood(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1), mean = probe.numbers(probe.shape().k, x.cols, 2);
  Table variance = probe.numbers(probe.shape().k, x.cols, 3, 9);   // between 1 and 17
  std::vector<double> prior(static_cast<std::size_t>(probe.shape().k), -1.25);
  Padded<T> z(probe.memory(), x.rows, probe.shape().k);
  probe.ops().bayes->gaussian_log_likelihood(
      Padded<T>(probe.memory(), x).view(), Padded<double>(probe.memory(), mean).view(),
      Padded<double>(probe.memory(), variance).view(), probe.upload(prior).view(), z.view());
  Table expected(x.rows, probe.shape().k);
  double largest = 1;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t c = 0; c < expected.cols; ++c) {
      double sum = 0;
      for (std::int64_t j = 0; j < x.cols; ++j)
        sum += std::log(2 * std::numbers::pi * variance.at(c, j)) + (x.at(i, j) - mean.at(c, j)) * (x.at(i, j) - mean.at(c, j)) / variance.at(c, j);
      expected.at(i, c) = prior[static_cast<std::size_t>(c)] - 0.5 * sum;
      largest = std::max(largest, std::abs(expected.at(i, c)));
    }
  }
  probe.expect_near(z.to_table(), expected, largest, "log likelihood");
}

}  // namespace

template <class T>
std::vector<Row<T>> table_rows() {
  return {
      {"find_nonfinite", kExact, &check_find_nonfinite<T>, tall_shapes()},
      {"gather", kExact, &check_gather<T>, tall_shapes()},
      {"column_moments", kMoments, &check_column_moments<T>, tall_shapes()},
      {"column_moments_constant", kExact, &check_constant_column<T>, nonempty(tall_shapes())},
      {"column_range", kExact, &check_column_range<T>, tall_shapes()},
      {"column_range",
       kExact,
       &check_column_range<T>,
       {{20000, 3, 1}, {300000, 1, 1}}},   // more tiles than one thread folds
      {"clip", kExact, &check_clip<T>, tall_shapes()},
      {"class_moments", kMoments, &check_class_moments<T>, {{1, 1, 1}, {9, 4, 3}, {700, 70, 10}, {2100, 5, 120}}},
      {"gaussian_log_likelihood", kRounded<T> + kMoments, &check_gaussian_log_likelihood<T>, tall_shapes()},
  };
}

template std::vector<Row<float>> table_rows();
template std::vector<Row<double>> table_rows();

}  // namespace kedge::parity
