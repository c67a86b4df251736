// Parity of the ops of regressions: rows of a design, its Gram matrix and triangle.
#include <limits>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr double kSums = 8 * kUnit;       // double whatever T is; the scale passed in holds the number of terms
constexpr double kFactor = 100 * kUnit;   // backward stable: a modest multiple of the columns' number, which is in the scale

// A design of half of the rows, some twice, with shift, scale, weights and two targets; and its rows on the host.
template <class T>
struct Case {
  Padded<T> X;
  Padded<double> Y;
  Array<std::int32_t> rows;
  Array<double> shift, scale, weights;
  Table expected;
  engine::Design<T> design() {
    return {.X = std::as_const(X).view(), .rows = rows.view(), .shift = shift.view(), .scale = scale.view(), .weights = weights.view(),
            .Y = std::as_const(Y).view()};
  }
};

template <class T>
Case<T> make_case(Probe<T>& probe) {
  const std::int64_t n = probe.shape().rows, d = probe.shape().cols, k = 2, m = n == 0 ? 0 : n / 2 + 1;
  const Table x = probe.numbers(n, d, 1, 3), y = probe.numbers(m, k, 2);
  const auto rows = n == 0 ? std::vector<std::int32_t>{} : probe.codes(m, static_cast<int>(n), 17);
  std::vector<double> shift(static_cast<std::size_t>(d)), scale(shift.size());
  for (std::size_t j = 0; j < shift.size(); ++j) shift[j] = 3 + 0.125 * static_cast<double>(j % 5), scale[j] = j % 2 ? 0.5 : 0.75;
  const auto weights = probe.weights(m);
  Table expected(m, d + k);
  for (std::int64_t i = 0; i < m; ++i) {
    const auto r = static_cast<std::size_t>(i);
    for (std::int64_t j = 0; j < d; ++j)
      expected.at(i, j) = weights[r] * ((x.at(rows[r], j) - shift[static_cast<std::size_t>(j)]) * scale[static_cast<std::size_t>(j)]);
    for (std::int64_t t = 0; t < k; ++t) expected.at(i, d + t) = weights[r] * y.at(i, t);
  }
  return {Padded<T>(probe.memory(), x), Padded<double>(probe.memory(), y), probe.upload(rows), probe.upload(shift), probe.upload(scale),
          probe.upload(weights), expected};
}

Table gram_of(const Table& a) {
  Table g(a.cols, a.cols);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t i = 0; i < a.cols; ++i) {
      for (std::int64_t j = 0; j < a.cols; ++j) g.at(i, j) += a.at(r, i) * a.at(r, j);
    }
  }
  return g;
}

Table square_table(const Matrix<double>& m) {
  Table t(m.rows(), m.cols());
  t.values = m.to_host();
  return t;
}

template <class T>
void check_design_rows(Probe<T>& probe) {
  auto c = make_case(probe);
  const std::int64_t n = c.expected.rows, first = n / 3;
  Padded<double> out(probe.memory(), n - first, c.expected.cols);
  probe.ops().design_rows(c.design(), first, out.view());
  Table expected(n - first, c.expected.cols);
  std::copy(c.expected.values.begin() + first * c.expected.cols, c.expected.values.end(), expected.values.begin());
  probe.expect_near(out.to_table(), expected, 1, "selected rows");
  const engine::Design<T> plain{.X = std::as_const(c.X).view()};   // no rows, shift, scale, weights or targets
  Padded<double> all(probe.memory(), probe.shape().rows, probe.shape().cols);
  probe.ops().design_rows(plain, 0, all.view());
  probe.expect_near(all.to_table(), c.X.to_table(), 1, "all rows");
}

template <class T>
void check_design_gram(Probe<T>& probe) {
  auto c = make_case(probe);
  Matrix<double> g(probe.memory(), c.expected.cols, c.expected.cols);
  probe.ops().design_gram(c.design(), g.view());
  probe.expect_near(square_table(g), gram_of(c.expected), 100.0 * static_cast<double>(c.expected.rows + 1), "gram");
}

template <class T>
void check_design_triangle(Probe<T>& probe) {
  auto c = make_case(probe);
  const std::int64_t p = c.expected.cols;
  Matrix<double> r(probe.memory(), p, p);
  probe.ops().design_triangle(c.design(), r.view());
  const Table triangle = square_table(r);
  for (std::int64_t i = 0; i < p; ++i) {
    for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(triangle.at(i, j), 0.0) << "below the diagonal";
  }
  probe.expect_near(gram_of(triangle), gram_of(c.expected), 100.0 * static_cast<double>(c.expected.rows + p), "R'R");
}

}  // namespace

template <class T>
std::vector<Row<T>> regression_rows() {
  std::vector<Shape> tiles = tall_shapes();
  tiles.push_back({5000, 3, 0});   // beyond a tile
  std::vector<Shape> wide = tiles;
  wide.push_back({40, 400, 0});
  return {
      {"design_rows", kExact, &check_design_rows<T>, tall_shapes()},
      {"design_gram", kSums, &check_design_gram<T>, wide},
      {"design_triangle", kFactor, &check_design_triangle<T>, tiles},
  };
}

template std::vector<Row<float>> regression_rows();
template std::vector<Row<double>> regression_rows();

}  // namespace kedge::parity
