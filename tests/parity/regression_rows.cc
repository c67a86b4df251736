// Parity of the ops of regressions: rows of a design, its Gram matrix and triangle, and elastic nets.
#include <limits>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr double kSums = 8 * kUnit;       // double for any T; the scale passed in holds the number of terms
constexpr double kFactor = 100 * kUnit;   // backward stable: a modest multiple of the columns' number, which is in the scale
constexpr double kGap = 1e-13;            // of a solution, relative to y'y
constexpr double kOptimal = 3e-6;         // of its gradient: its error falls with the root of the gap

// A design of half of the rows, some twice, with shift, scale, weights and two targets; and its rows on the host.
template <class T>
struct Case {
  Padded<T> X;
  Padded<double> Y;
  Array<std::int32_t> rows;
  Array<double> shift, scale, weights;
  Table expected;
  engine::Design<T> design() {
    return {.X = std::as_const(X).view(),
            .rows = rows.view(),
            .shift = shift.view(),
            .scale = scale.view(),
            .weights = weights.view(),
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
      expected.at(i, j) =
          weights[r] * ((x.at(rows[r], j) - shift[static_cast<std::size_t>(j)]) * scale[static_cast<std::size_t>(j)]);
    for (std::int64_t t = 0; t < k; ++t) expected.at(i, d + t) = weights[r] * y.at(i, t);
  }
  return {Padded<T>(probe.memory(), x),
          Padded<double>(probe.memory(), y),
          probe.upload(rows),
          probe.upload(shift),
          probe.upload(scale),
          probe.upload(weights),
          expected};
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
  probe.ops().design->gather(c.design(), first, out.view());
  Table expected(n - first, c.expected.cols);
  std::copy(c.expected.values.begin() + first * c.expected.cols, c.expected.values.end(), expected.values.begin());
  probe.expect_near(out.to_table(), expected, 1, "selected rows");
  const engine::Design<T> plain{.X = std::as_const(c.X).view()};   // no rows, shift, scale, weights or targets
  Padded<double> all(probe.memory(), probe.shape().rows, probe.shape().cols);
  probe.ops().design->gather(plain, 0, all.view());
  probe.expect_near(all.to_table(), c.X.to_table(), 1, "all rows");
}

template <class T>
void check_design_gram(Probe<T>& probe) {
  auto c = make_case(probe);
  Matrix<double> g(probe.memory(), c.expected.cols, c.expected.cols);
  probe.ops().design->gram(c.design(), g.view());
  probe.expect_near(square_table(g), gram_of(c.expected), 100.0 * static_cast<double>(c.expected.rows + 1), "gram");
}

template <class T>
void check_design_products(Probe<T>& probe) {   // of the second target, every third column, and the first once more
  auto c = make_case(probe);
  const std::int64_t p = c.expected.cols;
  std::vector<std::int32_t> chosen{static_cast<std::int32_t>(p - 1)};
  for (std::int64_t j = 0; j < p; j += 3) chosen.push_back(static_cast<std::int32_t>(j));
  chosen.push_back(0);
  const auto columns = probe.upload(chosen);
  Matrix<double> products(probe.memory(), columns.size(), p), squares(probe.memory(), 1, p);
  probe.ops().design->products(c.design(), columns.view(), products.view(), {squares.data(), p});
  const Table gram = gram_of(c.expected);
  Table expected(columns.size(), p), diagonal(1, p);
  for (std::int64_t j = 0; j < p; ++j) {
    diagonal.at(0, j) = gram.at(j, j);
    for (std::int64_t i = 0; i < columns.size(); ++i) expected.at(i, j) = gram.at(chosen[static_cast<std::size_t>(i)], j);
  }
  const double scale = 100.0 * static_cast<double>(c.expected.rows + 1);
  probe.expect_near(square_table(products), expected, scale, "products");
  probe.expect_near(square_table(squares), diagonal, scale, "squares");
  probe.ops().design->products(c.design(), columns.view().slice(0, 0), {products.data(), 0, p}, {squares.data(), p});
  probe.expect_near(square_table(squares), diagonal, scale, "squares without products");
}

template <class T>
void check_design_slopes(Probe<T>& probe) {   // of the first target
  auto c = make_case(probe);
  const std::int64_t d = probe.shape().cols;
  engine::Design<T> design = c.design();
  design.Y.cols = 1;
  std::vector<double> coef;
  for (std::int64_t j = 0; j < d; ++j) coef.push_back(0.125 * static_cast<double>(j % 7) - 0.25);
  const auto device_coef = probe.upload(coef);
  for (const bool from_zero : {false, true}) {
    std::vector<double> expected(coef.size(), 0.0);
    for (std::int64_t i = 0; i < c.expected.rows; ++i) {
      double residual = c.expected.at(i, d);
      for (std::int64_t j = 0; j < d && !from_zero; ++j)
        residual -= c.expected.at(i, j) * coef[static_cast<std::size_t>(j)];
      for (std::int64_t j = 0; j < d; ++j) expected[static_cast<std::size_t>(j)] += c.expected.at(i, j) * residual;
    }
    Array<double> slopes(probe.memory(), d);
    probe.ops().design->slopes(design, from_zero ? VectorView<const double>() : device_coef.view(), slopes.view());
    const auto rows = static_cast<double>(c.expected.rows + 1);
    probe.expect_near(slopes, expected, 100 * rows * static_cast<double>(d + 1), "slopes");
  }
}

template <class T>
void check_design_triangle(Probe<T>& probe) {
  auto c = make_case(probe);
  const std::int64_t p = c.expected.cols;
  Matrix<double> r(probe.memory(), p, p);
  probe.ops().design->triangle(c.design(), r.view());
  const Table triangle = square_table(r);
  for (std::int64_t i = 0; i < p; ++i) {
    for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(triangle.at(i, j), 0.0) << "below the diagonal";
  }
  probe.expect_near(gram_of(triangle), gram_of(c.expected), 100.0 * static_cast<double>(c.expected.rows + p), "R'R");
}

// What defines the solution: the gradient of the smooth part is l1 against the sign of a coefficient, and at most l1 where it is
// 0.
void expect_optimal(const Table& Q, const std::vector<double>& q, const double* w, double l1, double l2, bool positive,
                    double scale) {
  for (std::int64_t j = 0; j < Q.cols; ++j) {
    double gradient = q[static_cast<std::size_t>(j)] - l2 * w[j];
    for (std::int64_t k = 0; k < Q.cols; ++k) gradient -= Q.at(j, k) * w[k];
    if (w[j] != 0) {
      EXPECT_NEAR(gradient, w[j] > 0 ? l1 : -l1, kOptimal * scale) << "coefficient " << j;
    } else {
      EXPECT_LE(positive ? gradient : std::abs(gradient), l1 + kOptimal * scale) << "coefficient " << j;
    }
    if (positive) {
      EXPECT_GE(w[j], 0.0);
    }
  }
}

template <class T>
void check_elastic_net(Probe<T>& probe) {
  const std::int64_t n = probe.shape().rows, d = probe.shape().cols;
  Table x = probe.numbers(n, d, 1);
  for (std::int64_t i = 0; i < n; ++i) x.at(i, d / 2) = d > 2 ? 0.0 : x.at(i, d / 2);   // a column that is 0
  const Table y = probe.numbers(n, 1, 2);
  const Table Q = gram_of(x);
  std::vector<double> q(static_cast<std::size_t>(d), 0.0);
  double yy = 0, largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    yy += y.at(i, 0) * y.at(i, 0);
    for (std::int64_t j = 0; j < d; ++j) q[static_cast<std::size_t>(j)] += x.at(i, j) * y.at(i, 0);
  }
  for (const double v : q) largest = std::max(largest, std::abs(v));
  const Matrix<double> gram(probe.memory(), d, d, Q.values);
  const auto right = probe.upload(q);
  const std::vector<double> l1{largest / 2, largest / 8, largest / 50}, l2{0, largest / 10, 0};
  const auto l1s = probe.upload(l1), l2s = probe.upload(l2);
  for (const bool positive : {false, true}) {
    for (const bool random : {false, true}) {
      const std::int64_t k = 3;
      Matrix<double> a(probe.memory(), k, d), b(probe.memory(), 1, d);
      a.zero(), b.zero();
      Array<double> gaps(probe.memory(), k + 1);
      Array<std::int32_t> iterations(probe.memory(), k + 1);
      const std::vector<engine::ElasticNetPath> paths{
          {gram.view(), right.view(), yy, l1s.view(), l2s.view(), a.view(), gaps.view().slice(0, k),
           iterations.view().slice(0, k)},
          {gram.view(), right.view(), yy, l1s.view().slice(1, 1), l2s.view().slice(1, 1), b.view(), gaps.view().slice(k, 1),
           iterations.view().slice(k, 1)}};
      probe.ops().convex->elastic_net_paths(
          paths, {.tol = kGap, .max_iter = 20000, .positive = positive, .random = random, .seed = 3});
      const auto path = a.to_host(), alone = b.to_host(), reached = gaps.to_host();
      for (const double gap : reached) EXPECT_LE(gap, kGap * yy);
      for (std::size_t i = 0; i < l1.size(); ++i)
        expect_optimal(Q, q, path.data() + static_cast<std::int64_t>(i) * d, l1[i], l2[i], positive,
                       std::sqrt(yy * (1 + Q.at(0, 0))));
      expect_optimal(Q, q, alone.data(), l1[1], l2[1], positive, std::sqrt(yy * (1 + Q.at(0, 0))));
    }
  }
}

}   // namespace

template <class T>
std::vector<Row<T>> regression_rows() {
  std::vector<Shape> tiles = tall_shapes();
  tiles.push_back({5000, 3, 0});   // beyond a tile
  std::vector<Shape> wide = tiles;
  for (const Shape& shape : {Shape{40, 400, 0}, Shape{700, 16, 0}, Shape{90, 130, 0}, Shape{90, 131, 0}})
    wide.push_back(shape);
  std::vector<Shape> products = wide;
  products.push_back({40, 700, 0});   // beyond what tiles of rows keep as sums of their own
  return {
      {"design_rows", kExact, &check_design_rows<T>, tall_shapes()},
      {"design_gram", kSums, &check_design_gram<T>, wide},
      {"design_products", kSums, &check_design_products<T>, products},
      {"design_slopes", kSums, &check_design_slopes<T>, wide},
      {"elastic_net_paths", kExact, &check_elastic_net<T>, {{20, 1, 0}, {30, 3, 0}, {80, 40, 0}, {400, 70, 0}}},
      {"design_triangle", kFactor, &check_design_triangle<T>, tiles},
  };
}

template std::vector<Row<float>> regression_rows();
template std::vector<Row<double>> regression_rows();

}   // namespace kedge::parity
