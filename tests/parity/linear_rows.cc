// Parity of dense linear algebra. Factorisations are checked by what defines them, as signs and bases are free.
#include <limits>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

template <class T>
constexpr double kUnit = std::numeric_limits<T>::epsilon() / 2;
// Products: n roundings of sums of n terms, times the largest term; the scale passed in is n times that.
template <class T>
constexpr double kProduct = 4 * kUnit<T>;
// Backward-stable factorisations of n x n: a modest multiple of n units, relative to the norm (n is put into the scale).
template <class T>
constexpr double kFactor = 30 * kUnit<T>;

Table multiply(const Table& a, bool ta, const Table& b, bool tb) {
  const std::int64_t rows = ta ? a.cols : a.rows, depth = ta ? a.rows : a.cols, cols = tb ? b.rows : b.cols;
  Table c(rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const double factor = ta ? a.at(k, i) : a.at(i, k);
      for (std::int64_t j = 0; j < cols; ++j) c.at(i, j) += factor * (tb ? b.at(j, k) : b.at(k, j));
    }
  }
  return c;
}

template <class T>
Table dense_table(const Matrix<T>& m) {
  Table t(m.rows(), m.cols());
  const auto host = m.to_host();
  std::copy(host.begin(), host.end(), t.values.begin());
  return t;
}
template <class T>
Matrix<T> dense(Probe<T>& probe, const Table& t) {
  return Matrix<T>(probe.memory(), t.rows, t.cols, std::vector<T>(t.values.begin(), t.values.end()));
}
Table identity(std::int64_t n) {
  Table t(n, n);
  for (std::int64_t i = 0; i < n; ++i) t.at(i, i) = 1;
  return t;
}

template <class T>
void check_gemm(Probe<T>& probe) {   // shape: rows x k times k x cols
  const auto [m, n, k] = probe.shape();
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Table a = ta ? probe.numbers(k, m, 1) : probe.numbers(m, k, 1), b = tb ? probe.numbers(n, k, 2) : probe.numbers(k, n, 2);
      const Table c = probe.numbers(m, n, 3), product = multiply(a, ta, b, tb);
      for (const double beta : {0.0, 0.5}) {
        Padded<T> result(probe.memory(), c);
        probe.ops().linear->gemm(ta ? engine::Transpose::kYes : engine::Transpose::kNo,
                                 tb ? engine::Transpose::kYes : engine::Transpose::kNo, T(-1.5),
                                 Padded<T>(probe.memory(), a).view(), Padded<T>(probe.memory(), b).view(), T(beta),
                                 result.view());
        Table expected(m, n);
        for (std::size_t e = 0; e < expected.values.size(); ++e) expected.values[e] = -1.5 * product.values[e] + beta * c.values[e];
        probe.expect_near(result.to_table(), expected, 64.0 * 1.5 * (k + 1), "C");
      }
    }
  }
}

template <class T>
void check_gram(Probe<T>& probe) {
  const Table a = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  Padded<T> c(probe.memory(), a.cols, a.cols);
  probe.ops().linear->gram(T(0.25), Padded<T>(probe.memory(), a).view(), c.view());
  Table expected = multiply(a, true, a, false);
  for (double& v : expected.values) v *= 0.25;
  const Table got = c.to_table();
  probe.expect_near(got, expected, 16.0 * static_cast<double>(a.rows + 1), "gram");
  for (std::int64_t i = 0; i < got.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(got.at(i, j), got.at(j, i)) << "not symmetric";
  }
}

template <class T>
void check_weighted_gram(Probe<T>& probe) {   // shape: rows x cols, k weights a row
  const auto [n, d, k] = probe.shape();
  const Table a = probe.numbers(n, d, 1);
  Table w = probe.numbers(n, k, 2);
  for (double& v : w.values) v = std::floor(std::abs(v)) * std::floor(std::abs(v));   // squares: their roots are exact
  for (const bool with_ones : {false, true}) {
    Table x(n, d + with_ones);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < x.cols; ++j) x.at(i, j) = j < d ? a.at(i, j) : 1;
    }
    Padded<T> result(probe.memory(), k * x.cols, x.cols);
    probe.ops().linear->weighted_gram(Padded<T>(probe.memory(), a).view(), Padded<double>(probe.memory(), w).view(),
                                      with_ones, result.view());
    const Table got = result.to_table();
    Table expected(k * x.cols, x.cols);
    for (std::int64_t m = 0; m < k; ++m) {
      Table scaled = x;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < x.cols; ++j) scaled.at(i, j) *= w.at(i, m);
      }
      const Table block = multiply(x, true, scaled, false);
      std::copy(block.values.begin(), block.values.end(), expected.values.begin() + static_cast<std::ptrdiff_t>(m * x.cols * x.cols));
    }
    probe.expect_near(got, expected, 64.0 * 64.0 * static_cast<double>(n + 1), with_ones ? "weighted gram with ones" : "weighted gram");
  }
}

template <class T>
void check_solve_positive(Probe<T>& probe) {   // shape: cols unknowns, k right sides
  const std::int64_t n = probe.shape().cols;
  const Table root = probe.numbers(n + 3, n, 1), x = probe.numbers(n, probe.shape().k, 2);
  Table a = multiply(root, true, root, false);
  for (std::int64_t i = 0; i < n; ++i) a.at(i, i) += 64.0 * static_cast<double>(n);   // well conditioned
  auto factor = dense(probe, a);
  Padded<T> b(probe.memory(), multiply(a, false, x, false));
  ASSERT_TRUE(probe.ops().factorise->solve_positive(factor.view(), b.view()));
  probe.expect_near(b.to_table(), x, 8 * static_cast<double>(n), "A^-1 B");
  a.at(n - 1, n - 1) = -1;
  auto indefinite = dense(probe, a);
  EXPECT_FALSE(probe.ops().factorise->solve_positive(indefinite.view(), b.view()));
}

template <class T>
void check_eigh(Probe<T>& probe) {
  const std::int64_t n = probe.shape().cols;
  Table a = probe.numbers(n, n, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) a.at(j, i) = a.at(i, j);
  }
  auto vectors = dense(probe, a);
  Array<T> w(probe.memory(), n);
  probe.ops().factorise->eigh(vectors.view(), w.view());
  const Table v = dense_table(vectors);   // rows are eigenvectors
  const auto values = w.to_host();
  const double scale = 8 * static_cast<double>(n) * static_cast<double>(n);
  probe.expect_near(multiply(v, false, v, true), identity(n), static_cast<double>(n), "V V'");
  Table scaled = v;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) {
      EXPECT_LE(values[static_cast<std::size_t>(i - 1)], values[static_cast<std::size_t>(i)]) << "not ascending";
    }
    for (std::int64_t j = 0; j < n; ++j) scaled.at(i, j) *= static_cast<double>(values[static_cast<std::size_t>(i)]);
  }
  probe.expect_near(multiply(v, true, scaled, false), a, scale, "V' diag(w) V");
}

template <class T>
void check_eigh_leading(Probe<T>& probe) {   // shape: a cols x cols matrix, its k largest eigenvalues
  const std::int64_t n = probe.shape().cols, k = probe.shape().k;
  Table a = probe.numbers(n, n, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) a.at(j, i) = a.at(i, j);
  }
  auto all = dense(probe, a), leading = dense(probe, a);
  Array<T> w(probe.memory(), n), largest(probe.memory(), k);
  probe.ops().factorise->eigh(all.view(), w.view());
  probe.ops().factorise->eigh(leading.view(), largest.view());
  Table vectors = dense_table(leading);
  vectors.rows = k, vectors.values.resize(static_cast<std::size_t>(k * n));
  Table scaled = vectors;
  const auto values = w.to_host(), found = largest.to_host();
  for (std::int64_t i = 0; i < k; ++i) {
    const double value = static_cast<double>(found[static_cast<std::size_t>(i)]);
    probe.expect_near(value, static_cast<double>(values[static_cast<std::size_t>(n - k + i)]), static_cast<double>(n), "eigenvalue");
    for (std::int64_t j = 0; j < n; ++j) scaled.at(i, j) *= value;
  }
  probe.expect_near(multiply(vectors, false, vectors, true), identity(k), static_cast<double>(n), "V V'");
  probe.expect_near(multiply(vectors, false, a, false), scaled, 8 * static_cast<double>(n) * static_cast<double>(n), "V A = diag(w) V");
}

template <class T>
void check_svd(Probe<T>& probe) {
  const Table a = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  const std::int64_t r = std::min(a.rows, a.cols);
  auto input = dense(probe, a);
  Matrix<T> u(probe.memory(), a.rows, r), vt(probe.memory(), r, a.cols);
  Array<T> s(probe.memory(), r);
  probe.ops().factorise->svd(input.view(), u.view(), s.view(), vt.view());
  const Table left = dense_table(u), right = dense_table(vt);
  const auto values = s.to_host();
  const double n = static_cast<double>(std::max(a.rows, a.cols));
  probe.expect_near(multiply(left, true, left, false), identity(r), n, "U'U");
  probe.expect_near(multiply(right, false, right, true), identity(r), n, "V'V");
  Table scaled = right;
  for (std::int64_t i = 0; i < r; ++i) {
    if (i > 0) {
      EXPECT_GE(values[static_cast<std::size_t>(i - 1)], values[static_cast<std::size_t>(i)]) << "not descending";
    }
    for (std::int64_t j = 0; j < a.cols; ++j) scaled.at(i, j) *= static_cast<double>(values[static_cast<std::size_t>(i)]);
  }
  probe.expect_near(multiply(left, false, scaled, false), a, 8 * n, "U diag(s) V'");
}

template <class T>
void check_orthonormalize(Probe<T>& probe) {
  const Table a = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  auto q = dense(probe, a);
  probe.ops().factorise->orthonormalize(q.view());
  const Table basis = dense_table(q);
  const double n = static_cast<double>(a.rows);
  probe.expect_near(multiply(basis, true, basis, false), identity(a.cols), n, "Q'Q");
  probe.expect_near(multiply(basis, false, multiply(basis, true, a, false), false), a, 8 * n, "Q Q'A");   // the same span
}

template <class T>
void check_fill_normal(Probe<T>& probe) {
  Padded<T> out(probe.memory(), probe.shape().rows, probe.shape().cols);
  probe.ops().rows->fill_normal(42, 7, out.view());
  const Table got = out.to_table();
  for (std::int64_t i = 0; i < got.rows * got.cols; ++i) {
    const auto bits = engine::philox(42, 7, static_cast<std::uint64_t>(i / 2));
    const std::uint64_t a = std::uint64_t{bits.word[0]} << 32 | bits.word[1], b = std::uint64_t{bits.word[2]} << 32 | bits.word[3];
    const double radius = std::sqrt(-2 * std::log((static_cast<double>(a >> 11) + 1) * 0x1.0p-53)), angle = 2 * M_PI * static_cast<double>(b >> 11) * 0x1.0p-53;
    const double expected = radius * (i % 2 ? std::sin(angle) : std::cos(angle));
    probe.expect_near(got.values[static_cast<std::size_t>(i)], expected, radius, "element " + std::to_string(i));
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> linear_rows() {
  const std::vector<Shape> products{{1, 1, 1}, {1, 7, 3}, {5, 1, 40}, {33, 17, 9}, {130, 10, 65}, {10, 90, 300}, {300, 40, 70}, {9, 30, 5000}, {10, 45, 2500}, {301, 10, 100}, {7, 16, 77}};
  const std::vector<Shape> tall{{1, 1, 0}, {6, 1, 0}, {9, 9, 0}, {70, 20, 0}, {150, 40, 0}};
  std::vector<Shape> any = tall;
  any.push_back({20, 70, 0});
  return {
      {"gemm", kProduct<T>, &check_gemm<T>, products},
      {"gram", kProduct<T>, &check_gram<T>, tall_shapes()},
      {"weighted_gram", kProduct<T>, &check_weighted_gram<T>, {{1, 1, 1}, {7, 3, 2}, {300, 20, 1}, {130, 5, 6}, {5000, 9, 3}, {0, 4, 2}}},
      {"solve_positive", kFactor<T>, &check_solve_positive<T>, {{0, 1, 1}, {0, 7, 3}, {0, 40, 1}, {0, 90, 5}}},
      {"eigh", kFactor<T>, &check_eigh<T>, {{0, 1, 0}, {0, 2, 0}, {0, 31, 0}, {0, 64, 0}}},
      {"eigh_leading", kFactor<T>, &check_eigh_leading<T>, {{0, 2, 1}, {0, 31, 5}, {0, 64, 63}, {0, 64, 1}}},
      {"svd", kFactor<T>, &check_svd<T>, any},
      {"orthonormalize", kFactor<T>, &check_orthonormalize<T>, tall},
      {"fill_normal", 8 * kUnit<T>, &check_fill_normal<T>, tall_shapes()},
  };
}

template std::vector<Row<float>> linear_rows();
template std::vector<Row<double>> linear_rows();

}  // namespace kedge::parity
