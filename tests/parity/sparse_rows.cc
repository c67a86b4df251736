// Parity rows: ops on sparse rows.
#include <utility>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

using engine::CsrMatrix;
using engine::CsrView;

constexpr double kExact = 0, kSums = 1e-12;

// A table in which two cells of three are 0, one row and one column wholly, and one row has no 0; and its
// sparse form.
template <class T>
struct Sparse {
  Table dense;
  CsrMatrix<T> matrix;

  explicit Sparse(Probe<T>& probe) : dense(probe.numbers(probe.shape().rows, probe.shape().cols, 1)) {
    engine::PhiloxStream random(7, 7);
    for (std::int64_t i = 0; i < dense.rows; ++i)
      for (std::int64_t j = 0; j < dense.cols; ++j)
        if (i != 3 && (i == 1 || j == 2 || random.below(3) > 0))
          dense.at(i, j) = 0;
        else if (dense.at(i, j) == 0)
          dense.at(i, j) = 0.125;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> columns;
    std::vector<T> values;
    for (std::int64_t i = 0; i < dense.rows; ++i) {
      for (std::int64_t j = 0; j < dense.cols; ++j)
        if (dense.at(i, j) != 0)
          columns.push_back(static_cast<std::int32_t>(j)), values.push_back(static_cast<T>(dense.at(i, j)));
      offsets.push_back(static_cast<std::int64_t>(values.size()));
    }
    matrix = CsrMatrix<T>(probe.memory(), dense.cols, std::span<const std::int64_t>(offsets),
                          std::span<const std::int32_t>(columns), std::span<const T>(values));
  }
  CsrView<const T> view() const { return matrix.view(); }
};

// What a sparse matrix holds, and that its columns ascend in every row.
template <class T>
Table to_table(engine::Memory& memory, const CsrView<const T>& A) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(A.offsets.size));
  std::vector<std::int32_t> columns(static_cast<std::size_t>(A.n_entries()));
  std::vector<T> values(columns.size());
  memory.to_host(offsets.data(), A.offsets.data, offsets.size() * sizeof offsets[0]);
  if (!columns.empty()) {
    memory.to_host(columns.data(), A.columns.data, columns.size() * sizeof columns[0]);
    memory.to_host(values.data(), A.values.data, values.size() * sizeof(T));
  }
  EXPECT_EQ(offsets.back(), A.n_entries());
  Table table(A.rows, A.cols);
  for (std::int64_t i = 0; i < A.rows; ++i)
    for (auto e = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]);
         e < static_cast<std::size_t>(offsets[static_cast<std::size_t>(i + 1)]); ++e) {
      if (e > static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)])) {
        EXPECT_LT(columns[e - 1], columns[e]) << "row " << i;
      }
      table.at(i, columns[e]) = static_cast<double>(values[e]);
    }
  return table;
}

std::vector<double> factors(std::int64_t n) {
  std::vector<double> all;
  for (std::int64_t j = 0; j < n; ++j) all.push_back(j % 3 == 0 ? 0.5 : 1.25);
  return all;
}

template <class T>
void check_sparse_gather(Probe<T>& probe) {
  const Sparse<T> A(probe);
  const std::vector<std::int32_t> rows = probe.codes(A.dense.rows + 5, static_cast<int>(A.dense.rows), 3);
  const std::vector<double> scale = factors(A.dense.cols);
  Array<std::int64_t> offsets(probe.memory(), static_cast<std::int64_t>(rows.size()) + 1);
  const auto device_rows = probe.upload(rows);
  const std::int64_t n = probe.ops().sparse->offsets(A.view(), device_rows.view(), offsets.view());
  CsrMatrix<T> out(probe.memory(), A.dense.cols, std::move(offsets), n);
  probe.ops().sparse->gather(A.view(), device_rows.view(), probe.upload(scale).view(), out.view());
  Table expected(static_cast<std::int64_t>(rows.size()), A.dense.cols);
  for (std::int64_t i = 0; i < expected.rows; ++i)
    for (std::int64_t j = 0; j < expected.cols; ++j)
      expected.at(i, j) =
          A.dense.at(rows[static_cast<std::size_t>(i)], j) * scale[static_cast<std::size_t>(j)];
  probe.expect_near(to_table<T>(probe.memory(), std::as_const(out).view()), expected, 1, "rows");
}

template <class T>
void check_sparse_transpose(Probe<T>& probe) {
  const Sparse<T> A(probe);
  CsrMatrix<T> out(probe.memory(), A.dense.cols, A.dense.rows, A.matrix.n_entries());
  probe.ops().sparse->transpose(A.view(), out.view());
  Table expected(A.dense.cols, A.dense.rows);
  for (std::int64_t i = 0; i < A.dense.rows; ++i)
    for (std::int64_t j = 0; j < A.dense.cols; ++j) expected.at(j, i) = A.dense.at(i, j);
  probe.expect_near(to_table<T>(probe.memory(), std::as_const(out).view()), expected, 1, "transpose");
}

template <class T>
void check_sparse_multiply(Probe<T>& probe) {
  const Sparse<T> A(probe);
  const Table B = probe.numbers(A.dense.cols, probe.shape().k, 2);
  Padded<double> right(probe.memory(), B), out(probe.memory(), A.dense.rows, B.cols);
  probe.ops().sparse->multiply(A.view(), std::as_const(right).view(), out.view());
  Table expected(A.dense.rows, B.cols);
  for (std::int64_t i = 0; i < A.dense.rows; ++i)
    for (std::int64_t c = 0; c < B.cols; ++c)
      for (std::int64_t j = 0; j < A.dense.cols; ++j) expected.at(i, c) += A.dense.at(i, j) * B.at(j, c);
  probe.expect_near(out.to_table(), expected, 64, "product");
}

template <class T>
void check_sparse_moments(Probe<T>& probe) {
  const Sparse<T> A(probe);
  for (const bool is_weighted : {false, true}) {
    const std::vector<double> w = is_weighted ? probe.weights(A.dense.cols) : std::vector<double>{};
    Array<double> mean(probe.memory(), A.dense.rows), variance(probe.memory(), A.dense.rows);
    probe.ops().sparse->moments(A.view(), probe.upload(w).view(), mean.view(), variance.view());
    std::vector<double> means, variances;
    for (std::int64_t i = 0; i < A.dense.rows; ++i) {
      double all = 0, sum = 0, squares = 0;
      const auto weight = [&](std::int64_t j) { return is_weighted ? w[static_cast<std::size_t>(j)] : 1.0; };
      for (std::int64_t j = 0; j < A.dense.cols; ++j) all += weight(j), sum += weight(j) * A.dense.at(i, j);
      for (std::int64_t j = 0; j < A.dense.cols; ++j)
        squares += weight(j) * std::pow(A.dense.at(i, j) - sum / all, 2);
      means.push_back(sum / all), variances.push_back(squares / all);
    }
    probe.expect_near(mean, means, 8, "mean");
    probe.expect_near(variance, variances, 64, "variance");
  }
}

template <class T>
void check_sparse_range(Probe<T>& probe) {
  const Sparse<T> A(probe);
  Array<T> low(probe.memory(), A.dense.rows), high(probe.memory(), A.dense.rows);
  probe.ops().sparse->range(A.view(), low.view(), high.view());
  std::vector<double> lows, highs;
  for (std::int64_t i = 0; i < A.dense.rows; ++i) {
    const auto row = A.dense.values.begin() + static_cast<std::ptrdiff_t>(i * A.dense.cols);
    lows.push_back(*std::min_element(row, row + static_cast<std::ptrdiff_t>(A.dense.cols)));
    highs.push_back(*std::max_element(row, row + static_cast<std::ptrdiff_t>(A.dense.cols)));
  }
  probe.expect_near(low, lows, 1, "minimum");
  probe.expect_near(high, highs, 1, "maximum");
}

template <class T>
void check_sparse_to_dense(Probe<T>& probe) {
  const Sparse<T> A(probe);
  const std::vector<std::int32_t> rows = probe.codes(A.dense.rows, static_cast<int>(A.dense.rows), 3);
  const std::vector<double> scale = factors(A.dense.cols), shift = probe.numbers(1, A.dense.cols, 4).values;
  Padded<T> plain(probe.memory(), A.dense.rows, A.dense.cols),
      mapped(probe.memory(), A.dense.rows, A.dense.cols);
  probe.ops().sparse->to_dense(A.view(), {}, {}, {}, plain.view());
  probe.ops().sparse->to_dense(A.view(), probe.upload(rows).view(), probe.upload(shift).view(),
                               probe.upload(scale).view(), mapped.view());
  Table expected = A.dense;
  for (std::int64_t i = 0; i < expected.rows; ++i)
    for (std::int64_t j = 0; j < expected.cols; ++j) {
      const auto at = static_cast<std::size_t>(j);
      expected.at(i, j) = (A.dense.at(rows[static_cast<std::size_t>(i)], j) - shift[at]) * scale[at];
    }
  probe.expect_near(plain.to_table(), A.dense, 1, "dense");
  probe.expect_near(mapped.to_table(), expected, 1, "mapped");
}

template <class T>
void check_sparse_normalize(Probe<T>& probe) {
  for (const auto norm : {engine::RowNorm::kL1, engine::RowNorm::kL2, engine::RowNorm::kMax}) {
    Sparse<T> A(probe);
    probe.ops().sparse->normalize(norm, A.matrix.view());
    Table expected = A.dense;
    for (std::int64_t i = 0; i < expected.rows; ++i) {
      double l1 = 0, l2 = 0, most = 0;
      for (std::int64_t j = 0; j < expected.cols; ++j) {
        const double x = std::abs(expected.at(i, j));
        l1 += x, l2 += x * x, most = std::max(most, x);
      }
      const double size =
          norm == engine::RowNorm::kL1 ? l1 : (norm == engine::RowNorm::kL2 ? std::sqrt(l2) : most);
      for (std::int64_t j = 0; size > 0 && j < expected.cols; ++j) expected.at(i, j) /= size;
    }
    probe.expect_near(to_table<T>(probe.memory(), std::as_const(A.matrix).view()), expected, 1, "normalised");
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> sparse_rows() {
  const std::vector<Shape> shapes{{1, 1, 1}, {5, 3, 1}, {40, 70, 1}, {70, 40, 5}, {33, 300, 33}, {300, 5, 2}};
  const double rounded = sizeof(T) == 4 ? 1e-7 : 1e-15;
  return {
      {"sparse_gather", rounded * 16, &check_sparse_gather<T>, shapes},
      {"sparse_transpose", kExact, &check_sparse_transpose<T>, shapes},
      {"sparse_multiply", kSums, &check_sparse_multiply<T>, shapes},
      {"sparse_moments", kSums, &check_sparse_moments<T>, shapes},
      {"sparse_range", kExact, &check_sparse_range<T>, shapes},
      {"sparse_to_dense", rounded * 16, &check_sparse_to_dense<T>, shapes},
      {"sparse_normalize", rounded * 4, &check_sparse_normalize<T>, shapes},
  };
}

template std::vector<Row<float>> sparse_rows();
template std::vector<Row<double>> sparse_rows();

}  // namespace kedge::parity
