// Parity of the ops on columns: sorting, quantiles, moments without what is missing, and the maps.
#include <limits>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kMoments = 1e-12;   // stated in ops/, relative to the largest square
constexpr double kPlaced = 1e-15;    // one multiply and one add between two neighbours
constexpr double kTwoPasses = 4 * std::numeric_limits<double>::epsilon();   // stated in ops/
template <class T>
constexpr double kMapped = 4 * std::numeric_limits<T>::epsilon();   // stated in ops/

using engine::ColumnMap;

bool is_missing(std::int64_t i, std::int64_t j) { return (i * 7 + j * 3) % 5 == 0; }

// Numbers with every fifth missing, and a first column without any.
template <class T>
Table with_missing(Probe<T>& probe, double offset = 0) {
  Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1, offset);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < x.cols; ++j)
      if (j == 0 || is_missing(i, j)) x.at(i, j) = std::numeric_limits<double>::quiet_NaN();
  return x;
}

std::vector<double> present_of(const Table& x, std::int64_t j) {
  std::vector<double> column;
  for (std::int64_t i = 0; i < x.rows; ++i)
    if (!std::isnan(x.at(i, j))) column.push_back(x.at(i, j));
  std::ranges::sort(column);
  return column;
}

// The rows backwards, in a table with one more: ops must read it by the rows.
std::vector<std::int32_t> backwards(std::int64_t n) {
  std::vector<std::int32_t> rows;
  for (std::int64_t i = n; i-- > 0;) rows.push_back(static_cast<std::int32_t>(i));
  return rows;
}

template <class T>
void check_sort_columns(Probe<T>& probe) {
  const Table x = with_missing(probe);
  Padded<T> sorted(probe.memory(), x.cols, x.rows);
  Array<std::int64_t> present(probe.memory(), x.cols);
  probe.ops().columns->sort_columns(Padded<T>(probe.memory(), x).view(), probe.upload(backwards(x.rows)).view(),
                                    sorted.view(), present.view());
  Table expected(x.cols, x.rows);
  std::vector<double> count;
  for (std::int64_t j = 0; j < x.cols; ++j) {
    auto column = present_of(x, j);
    count.push_back(static_cast<double>(column.size()));
    column.resize(static_cast<std::size_t>(x.rows), std::numeric_limits<double>::infinity());
    for (std::int64_t i = 0; i < x.rows; ++i) expected.at(j, i) = column[static_cast<std::size_t>(i)];
  }
  probe.expect_near(sorted.to_table(), expected, 1, "sorted"), probe.expect_near(present, count, 1, "present");
}

template <class T>
void check_column_quantiles(Probe<T>& probe) {
  const Table x = with_missing(probe);
  for (const int n_q : {3, 21}) {   // few are selected, many sorted
    std::vector<double> q;
    for (int i = 0; i < n_q; ++i) q.push_back(static_cast<double>(i) / (n_q - 1));
    Padded<double> out(probe.memory(), n_q, x.cols);
    probe.ops().columns->column_quantiles(Padded<T>(probe.memory(), x).view(), {}, probe.upload(q).view(), out.view());
    Table expected(n_q, x.cols);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const auto column = present_of(x, j);
      for (int i = 0; i < n_q; ++i) {
        expected.at(i, j) = std::numeric_limits<double>::quiet_NaN();
        if (column.empty()) continue;
        const double place = q[static_cast<std::size_t>(i)] * static_cast<double>(column.size() - 1);
        const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, column.size() - 1);
        expected.at(i, j) = column[below] + (column[above] - column[below]) * (place - static_cast<double>(below));
      }
    }
    probe.expect_near(out.to_table(), expected, 16, "quantiles");
  }
}

template <class T>
void check_present_moments(Probe<T>& probe) {
  const Table x = with_missing(probe, 40);
  const std::vector<double> weights = probe.weights(x.rows);
  const std::vector<std::int32_t> rows = backwards(x.rows);
  Array<double> count(probe.memory(), x.cols), mean(probe.memory(), x.cols), variance(probe.memory(), x.cols);
  probe.ops().columns->present_moments(Padded<T>(probe.memory(), x).view(), probe.upload(rows).view(),
                                       probe.upload(weights).view(), count.view(), mean.view(), variance.view());
  std::vector<double> c, m, v;
  for (std::int64_t j = 0; j < x.cols; ++j) {
    long double total = 0, sum = 0, squares = 0;
    const auto add = [&](auto&& body) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (const double value = x.at(rows[i], j); !std::isnan(value)) body(weights[i], value);
    };
    add([&](double w, double value) { total += w, sum += w * value; });
    const long double mean_of = sum / total;
    add([&](double w, double value) { squares += w * (value - mean_of) * (value - mean_of); });
    c.push_back(static_cast<double>(total)), m.push_back(static_cast<double>(mean_of)),
        v.push_back(static_cast<double>(squares / total));
  }
  probe.expect_near(count, c, static_cast<double>(x.rows) + 1, "count");
  probe.expect_near(mean, m, 48 * 48, "mean"), probe.expect_near(variance, v, 48 * 48, "variance");
}

// What stands for missing: NaN in even columns, 2.5 in odd ones.
template <class T>
std::vector<T> missing_marks(std::int64_t cols) {
  std::vector<T> marks;
  for (std::int64_t j = 0; j < cols; ++j) marks.push_back(j % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : T{2.5});
  return marks;
}

struct CentresFound {
  std::vector<double> centre, present;
};

double centre_of(engine::ColumnCentre kind, const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  if (n == 0 || kind == engine::ColumnCentre::kNone) return std::numeric_limits<double>::quiet_NaN();
  if (kind == engine::ColumnCentre::kMedian) return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  if (kind == engine::ColumnCentre::kMean) {
    long double sum = 0;
    for (const double v : sorted) sum += v;
    return static_cast<double>(sum / static_cast<long double>(n));
  }
  double best = 0;
  std::ptrdiff_t most = 0;
  for (const double v : sorted)
    if (const auto count = std::ranges::count(sorted, v); count > most) most = count, best = v;
  return best;
}

CentresFound centres_of(const Table& x, engine::ColumnCentre kind) {
  CentresFound found;
  for (std::int64_t j = 0; j < x.cols; ++j) {
    std::vector<double> column = present_of(x, j);
    if (j % 2 == 1) std::erase(column, 2.5);
    found.present.push_back(static_cast<double>(column.size())), found.centre.push_back(centre_of(kind, column));
  }
  return found;
}

template <class T>
void expect_centres(Probe<T>& probe, engine::ColumnCentre kind, double scale) {
  Table x = with_missing(probe);
  for (std::int64_t i = 0; i < x.rows; ++i)   // many zeros, half of them negative: they are one number
    if (x.cols > 1 && i % 6 < 3) x.at(i, x.cols - 1) = i % 2 == 0 ? 0.0 : -0.0;
  const CentresFound expected = centres_of(x, kind);
  Array<double> centre(probe.memory(), x.cols);
  Array<std::int64_t> present(probe.memory(), x.cols);
  probe.ops().columns->column_centres(kind, Padded<T>(probe.memory(), x).view(), probe.upload(backwards(x.rows)).view(),
                                      probe.upload(missing_marks<T>(x.cols)).view(), centre.view(), present.view());
  probe.expect_near(centre, expected.centre, scale, "centre " + std::to_string(static_cast<int>(kind)));
  probe.expect_near(present, expected.present, 0, "present");
  for (const double v : centre.to_host()) EXPECT_FALSE(v == 0 && std::signbit(v)) << "-0";
}

template <class T>
void check_column_centres(Probe<T>& probe) {
  for (const auto kind : {engine::ColumnCentre::kNone, engine::ColumnCentre::kMedian, engine::ColumnCentre::kMode})
    expect_centres(probe, kind, 1);
}

template <class T>
void check_column_means(Probe<T>& probe) {
  expect_centres(probe, engine::ColumnCentre::kMean, 8);
}

// The columns backwards, the first twice; infinity, large and broken numbers among them.
template <class T>
void check_count_numbers(Probe<T>& probe) {
  Table x = with_missing(probe);
  for (std::int64_t i = 0; i + 3 < x.rows; i += 7) {
    const std::int64_t j = x.cols - 1;
    x.at(i, j) = std::numeric_limits<double>::infinity(), x.at(i + 1, j) = -0.0, x.at(i + 2, j) = 3e8;
  }
  std::vector<std::int32_t> columns{0};
  for (std::int64_t j = x.cols; j-- > 0;) columns.push_back(static_cast<std::int32_t>(j));
  const auto found = probe.ops().columns->count_numbers(Padded<T>(probe.memory(), x).view(),
                                                        probe.upload(backwards(x.rows)).view(), columns);
  ASSERT_EQ(found.size(), columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::vector<T> numbers;
    std::vector<std::int64_t> counts;
    const std::vector<double> sorted = present_of(x, columns[c]);
    for (const double v : sorted) {
      if (numbers.empty() || numbers.back() != static_cast<T>(v))
        numbers.push_back(static_cast<T>(v)), counts.push_back(0);
      ++counts.back();
    }
    EXPECT_EQ(found[c].numbers, numbers);
    EXPECT_EQ(found[c].counts, counts);
    EXPECT_EQ(found[c].missing, x.rows - static_cast<std::int64_t>(sorted.size()));
    for (const T v : found[c].numbers) EXPECT_FALSE(v == 0 && std::signbit(v)) << "-0";
  }
}

double reference_map(ColumnMap map, double x, double a, double b) {
  const double size = std::log(1 + std::abs(x));
  switch (map) {
    case ColumnMap::kAbove:
      return x > a;
    case ColumnMap::kSignedLog:
      return x < 0 ? -size : size;
    case ColumnMap::kLog:
      return std::log(x);
    case ColumnMap::kYeoJohnson:
      if (x >= 0) return a == 0 ? size : (std::pow(1 + x, a) - 1) / a;
      return a == 2 ? -size : (1 - std::pow(1 - x, 2 - a)) / (2 - a);
    case ColumnMap::kBoxCox:
      return a == 0 ? std::log(x) : (std::pow(x, a) - 1) / a;
    case ColumnMap::kYeoJohnsonOfLog:
      return reference_map(ColumnMap::kYeoJohnson, x < 0 ? 1 - std::exp(-x) : std::exp(x) - 1, a, b);
    case ColumnMap::kBoxCoxOfLog:
      return a == 0 ? x : (b == 0 ? (std::exp(a * x) - 1) / a : std::exp(a * x - b) / a);
  }
  return x;
}

template <class T>
void check_map_columns(Probe<T>& probe) {
  for (const ColumnMap map : {ColumnMap::kAbove, ColumnMap::kSignedLog, ColumnMap::kLog, ColumnMap::kYeoJohnson,
                              ColumnMap::kBoxCox, ColumnMap::kYeoJohnsonOfLog, ColumnMap::kBoxCoxOfLog}) {
    const bool positive = map == ColumnMap::kLog || map == ColumnMap::kBoxCox;
    Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1, positive ? 9 : 0);
    std::vector<double> a, b;
    for (std::int64_t j = 0; j < x.cols; ++j)
      a.push_back(static_cast<double>(j % 5) * 0.5), b.push_back(static_cast<double>(j % 2));
    Padded<T> device(probe.memory(), x);
    probe.ops().maps->map_columns(map, probe.upload(a).view(), probe.upload(b).view(), std::as_const(device).view(),
                                  device.view());
    Table expected = x;
    double largest = 1;
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t j = 0; j < x.cols; ++j) {
        expected.at(i, j) = reference_map(map, x.at(i, j), a[static_cast<std::size_t>(j)], b[static_cast<std::size_t>(j)]);
        largest = std::max(largest, std::abs(expected.at(i, j)));
      }
    probe.expect_near(device.to_table(), expected, largest, "map " + std::to_string(static_cast<int>(map)));
  }
}

// The quantiles are 0, 1, 1, 3, which the third column has none of; references 0, 1/3, 2/3, 1.
template <class T>
void check_quantile_ranks(Probe<T>& probe) {
  Table x(probe.shape().rows, 2);
  const std::vector<double> values{-1, 0, 0.5, 1, 2, 3, 4, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> ranks{0, 0, 1.0 / 6, 0.5, 2.5 / 3, 1, 1, std::numeric_limits<double>::quiet_NaN()};
  // scipy.stats.norm.ppf of the ranks, the ends clipped as in scikit-learn (SciPy 1.17.1)
  const double low = -5.199337582605575, high = 5.19933758270342;
  const std::vector<double> deviates{
      low, low, -0.967421566101701, 0, 0.967421566101701, high, high, std::numeric_limits<double>::quiet_NaN()};
  Table quantiles(2, 4);
  quantiles.values = {0, 1, 1, 3, 0, 1, 1, 3};
  const std::vector<double> references{0, 1.0 / 3, 2.0 / 3, 1};
  for (std::int64_t i = 0; i < x.rows; ++i) x.at(i, 0) = x.at(i, 1) = values[static_cast<std::size_t>(i) % values.size()];
  for (const bool normal : {false, true}) {
    Table expected = x;
    for (std::int64_t i = 0; i < x.rows; ++i)
      expected.at(i, 0) = expected.at(i, 1) = (normal ? deviates : ranks)[static_cast<std::size_t>(i) % values.size()];
    Padded<T> out(probe.memory(), x.rows, 2);
    probe.ops().maps->quantile_ranks(Padded<T>(probe.memory(), x).view(),
                                     Padded<double>(probe.memory(), quantiles).view(), probe.upload(references).view(),
                                     normal, out.view());
    probe.expect_near(out.to_table(), expected, 6, normal ? "deviates" : "ranks");
  }
}

template <class T>
void check_bin_columns(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, 3, 1);
  const std::vector<double> edges{-2, 0, 2, 1};   // three, none, one
  const auto first_edge = probe.upload(std::vector<std::int32_t>{0, 3, 3, 4}),
             first_out = probe.upload(std::vector<std::int32_t>{0, 4, 5});
  Table bins = x, one_hot(x.rows, 7);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      const double v = x.at(i, j);
      const std::int64_t bin = j == 0 ? (v >= -2) + (v >= 0) + (v >= 2) : (j == 1 ? 0 : v >= 1);
      bins.at(i, j) = static_cast<double>(bin), one_hot.at(i, (j == 0 ? 0 : j + 3) + bin) = 1;
    }
  }
  const Padded<T> device(probe.memory(), x);
  Padded<T> codes(probe.memory(), x.rows, 3), wide(probe.memory(), x.rows, 7);
  probe.ops().maps->bin_columns(device.view(), probe.upload(edges).view(), first_edge.view(), {}, codes.view());
  probe.ops().maps->bin_columns(device.view(), probe.upload(edges).view(), first_edge.view(), first_out.view(),
                                wide.view());
  probe.expect_near(codes.to_table(), bins, 1, "bins"), probe.expect_near(wide.to_table(), one_hot, 1, "one-hot");
}

// Degree 1 on knots 0, 1, 2 (and one outside at each end): hats, whose values are known.
double hat(double x, double centre) { return std::max(0.0, 1 - std::abs(x - centre)); }

template <class T>
void check_spline_basis(Probe<T>& probe) {
  using engine::Extrapolation;
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  Table knots(x.cols, 5);
  for (std::int64_t j = 0; j < x.cols; ++j)
    for (std::int64_t t = 0; t < 5; ++t) knots.at(j, t) = static_cast<double>(t) - 1;
  const Padded<double> on_device(probe.memory(), knots);
  const Padded<T> device(probe.memory(), x);
  for (const auto mode : {Extrapolation::kConstant, Extrapolation::kLinear, Extrapolation::kContinue, Extrapolation::kPeriodic}) {
    const engine::SplineBasis spline{.knots = on_device.view(), .degree = 1, .extrapolation = mode, .drop_last = false};
    const std::int64_t n = mode == Extrapolation::kPeriodic ? 2 : 3;
    ASSERT_EQ(spline.n_out(), n);
    Padded<T> out(probe.memory(), x.rows, x.cols * n);
    probe.ops().maps->spline_basis(device.view(), spline, out.view());
    Table expected(x.rows, x.cols * n);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t j = 0; j < x.cols; ++j) {
        const double v = x.at(i, j),
                     inside = mode == Extrapolation::kPeriodic ? v - 2 * std::floor(v / 2) : std::clamp(v, 0.0, 2.0);
        double cells[3] = {hat(inside, 0), hat(inside, 1), hat(inside, 2)};
        if (mode == Extrapolation::kPeriodic) cells[0] += cells[2];
        if (mode == Extrapolation::kLinear || mode == Extrapolation::kContinue) {
          const double beyond = v - inside;
          cells[v < 0 ? 0 : 2] += v < 0 ? -beyond : beyond, cells[1] += v < 0 ? beyond : -beyond;
        }
        for (std::int64_t s = 0; s < n; ++s) expected.at(i, j * n + s) = cells[s];
      }
    }
    probe.expect_near(out.to_table(), expected, 16, "mode " + std::to_string(static_cast<int>(mode)));
  }
}

template <class T>
void check_normalize_rows(Probe<T>& probe) {
  using engine::RowNorm;
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  for (const RowNorm norm : {RowNorm::kL1, RowNorm::kL2, RowNorm::kMax}) {
    Padded<T> device(probe.memory(), x);
    probe.ops().maps->normalize_rows(norm, device.view());
    Table expected = x;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      double sum = 0, squares = 0, most = 0;
      for (std::int64_t j = 0; j < x.cols; ++j) {
        const double size = std::abs(x.at(i, j));
        sum += size, squares += size * size, most = std::max(most, size);
      }
      const double size = norm == RowNorm::kL1 ? sum : (norm == RowNorm::kL2 ? std::sqrt(squares) : most);
      for (std::int64_t j = 0; size > 0 && j < x.cols; ++j) expected.at(i, j) /= size;
    }
    probe.expect_near(device.to_table(), expected, 1, "normalized");
  }
}

template <class T>
void check_map(Probe<T>& probe) {
  using engine::Unary;
  const auto expect = [&](Unary f, double scale, double offset, double (*formula)(double)) {
    Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1, offset);
    if (x.rows > 0 && x.cols > 0) x.at(0, 0) = std::numeric_limits<double>::quiet_NaN();
    Padded<T> device(probe.memory(), x);
    probe.ops().maps->map(f, scale, device.view(), device.view());
    for (double& v : x.values) v = formula(scale * v);
    const Table got = device.to_table();
    for (std::size_t e = 0; e < x.values.size(); ++e)
      probe.expect_near(got.values[e], x.values[e], std::abs(x.values[e]),
                        "mapped by " + std::to_string(static_cast<int>(f)));
  };
  expect(Unary::kSquare, 0.5, 0, [](double x) { return x * x; });
  expect(Unary::kAbs, -2, 0, [](double x) { return std::abs(x); });
  expect(Unary::kSqrt, 1, 100, [](double x) { return std::sqrt(x); });
  expect(Unary::kLog, 1, 100, [](double x) { return std::log(x); });
  for (const double scale :
       {1e-6, 0.01, 1.0,
        sizeof(T) == sizeof(double) ? -30.0 : -5.0}) {   // what is small, and where exp and tanh have their bounds
    expect(Unary::kExp, scale, 0, [](double x) { return std::exp(x); });
    expect(Unary::kTanh, scale, 0, [](double x) { return std::tanh(x); });
    expect(Unary::kLogistic, scale, 0, [](double x) { return 1 / (1 + std::exp(-x)); });
  }
  for (const double scale : {1e-6, 1.0, -40.0, 1e7})
    expect(Unary::kCos, scale, 0, [](double x) { return std::cos(x); });
}

template <class T>
void check_combine(Probe<T>& probe) {
  using engine::Binary;
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  const auto expect = [&](Binary f, const Table& y, double (*formula)(double, double)) {
    Padded<T> out(probe.memory(), x.rows, x.cols);
    probe.ops().maps->combine(f, Padded<T>(probe.memory(), x).view(), Padded<T>(probe.memory(), y).view(), out.view());
    Table expected = x;
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t j = 0; j < x.cols; ++j)
        expected.at(i, j) = formula(x.at(i, j), y.at(y.rows == 1 ? 0 : i, y.cols == 1 ? 0 : j));
    const Table got = out.to_table();
    for (std::size_t e = 0; e < expected.values.size(); ++e)
      probe.expect_near(got.values[e], expected.values[e], std::abs(expected.values[e]),
                        "combined by " + std::to_string(static_cast<int>(f)));
  };
  for (const auto& [rows, cols] : {std::pair{x.rows, x.cols}, {std::int64_t{1}, x.cols}, {x.rows, std::int64_t{1}}}) {
    const Table y = probe.numbers(rows, cols, 2, 9);
    expect(Binary::kAdd, y, [](double a, double b) { return a + b; });
    expect(Binary::kSubtract, y, [](double a, double b) { return a - b; });
    expect(Binary::kMultiply, y, [](double a, double b) { return a * b; });
    expect(Binary::kDivide, y, [](double a, double b) { return a / b; });
    expect(Binary::kMinimum, y, [](double a, double b) { return std::min(a, b); });
    expect(Binary::kMaximum, y, [](double a, double b) { return std::max(a, b); });
  }
}

// 1, every feature, and the products of all with the first feature, then of those with the last: degree 3.
template <class T>
void check_monomials(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  const auto d = static_cast<std::int32_t>(x.cols);
  std::vector<std::int32_t> feature{-1}, parent{-1};
  for (std::int32_t j = 0; j < d; ++j) feature.push_back(j), parent.push_back(-1);
  for (std::int32_t j = 0; j < d; ++j) feature.push_back(0), parent.push_back(1 + j);
  for (std::int32_t j = 0; j < d; ++j) feature.push_back(d - 1), parent.push_back(1 + d + j);
  Padded<T> out(probe.memory(), x.rows, static_cast<std::int64_t>(feature.size()));
  probe.ops().maps->monomials(Padded<T>(probe.memory(), x).view(), probe.upload(feature).view(),
                              probe.upload(parent).view(), out.view());
  Table expected(x.rows, static_cast<std::int64_t>(feature.size()));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    expected.at(i, 0) = 1;
    for (std::int64_t j = 0; j < d; ++j) {
      expected.at(i, 1 + j) = x.at(i, j);
      expected.at(i, 1 + d + j) = x.at(i, j) * x.at(i, 0);
      expected.at(i, 1 + 2 * d + j) = x.at(i, j) * x.at(i, 0) * x.at(i, d - 1);
    }
  }
  probe.expect_near(out.to_table(), expected, 512, "monomials");
}

template <class T>
void check_apply_kernel(Probe<T>& probe) {
  using engine::KernelKind;
  const Table k = probe.numbers(probe.shape().rows, probe.shape().k, 1);
  std::vector<T> x_norms(static_cast<std::size_t>(k.rows), T(10)), y_norms(static_cast<std::size_t>(k.cols), T(4));
  for (const KernelKind kind : {KernelKind::kPolynomial, KernelKind::kSigmoid, KernelKind::kGaussian, KernelKind::kLaplacian}) {
    Padded<T> device(probe.memory(), k);
    const engine::Kernel kernel{.kind = kind, .gamma = 0.125, .coef0 = 1.5, .degree = 2};
    probe.ops().maps->apply_kernel(kernel, probe.upload(x_norms).view(), probe.upload(y_norms).view(), device.view());
    Table expected = k;
    for (double& v : expected.values) {
      if (kind == KernelKind::kPolynomial)
        v = std::pow(0.125 * v + 1.5, 2);
      else if (kind == KernelKind::kSigmoid)
        v = std::tanh(0.125 * v + 1.5);
      else if (kind == KernelKind::kGaussian)
        v = std::exp(-0.125 * std::max(0.0, 14 - 2 * v));
      else
        v = std::exp(-0.125 * v);
    }
    probe.expect_near(device.to_table(), expected, 8, "kernel");
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> column_rows() {
  const std::vector<Shape> tall = tall_shapes();
  std::vector<Shape> norms = tall;
  norms.push_back({300, 13, 2});   // in pieces of four, and a rest
  return {
      {"sort_columns", kExact, &check_sort_columns<T>, tall},
      {"column_quantiles", kPlaced, &check_column_quantiles<T>, tall},
      {"present_moments", kMoments, &check_present_moments<T>, tall},
      {"column_centres", kExact, &check_column_centres<T>, tall},
      {"column_means", kTwoPasses, &check_column_means<T>, tall},
      {"count_numbers", kExact, &check_count_numbers<T>, tall},
      {"map_columns", kMapped<T>, &check_map_columns<T>, tall},
      {"map", kMapped<T>, &check_map<T>, tall},
      {"combine", kMapped<T>, &check_combine<T>, tall},
      {"quantile_ranks", kMapped<T>, &check_quantile_ranks<T>, tall},
      {"bin_columns", kExact, &check_bin_columns<T>, tall},
      {"spline_basis", kMapped<T>, &check_spline_basis<T>, tall},
      {"normalize_rows", kMapped<T>, &check_normalize_rows<T>, norms},
      {"monomials", kMapped<T>, &check_monomials<T>, tall},
      {"apply_kernel", kMapped<T>, &check_apply_kernel<T>, tall},
  };
}

template std::vector<Row<float>> column_rows();
template std::vector<Row<double>> column_rows();

}  // namespace kedge::parity
