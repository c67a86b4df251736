// The results of several transformers in one matrix, dense or sparse.
#include <algorithm>

#include "engine/backend/linked_tables.h"
#include "engine/core/host_view.h"
#include "engine/estimators/composition/nested.h"
#include "engine/estimators/sparse_choice.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

// X with every value times the weight; moves no data.
template <class T>
Samples<T> weighted(const Samples<T>& X, double weight) {
  if (weight == 1) return X;
  const auto n = static_cast<std::size_t>(X.n_cols());
  return X.then(std::vector<double>(n, 0.0), std::vector<double>(n, weight));
}

template <class T>
void put_dense(const Context& ctx, const Samples<T>& X, MatrixView<T> out) {
  const Array<double> shift(ctx.memory(), std::span<const double>(X.shift)), scale(ctx.memory(), std::span<const double>(X.scale));
  if (X.is_sparse())
    ctx.ops<T>().sparse->to_dense(std::as_const(*X.table->sparse).view(), X.row_view(), shift.view(), scale.view(),
                                  out);
  else ctx.ops<T>().tables->gather(std::as_const(X.table->X).view(), X.row_view(), shift.view(), scale.view(), out);
}

// One part in host memory: sparse where it is and no shift fills it, otherwise dense.
template <class T>
struct HostPart {
  CsrMatrix<T> sparse;
  Matrix<T> dense;
  std::int64_t n_cols;

  HostPart(const Context& ctx, const Samples<T>& X) : n_cols(X.n_cols()) {
    const bool has_shift = std::ranges::any_of(X.shift, [](double s) { return s != 0; });
    if (X.is_sparse() && !has_shift) {
      sparse = copied_rows(ctx, X);
    } else {
      dense = Matrix<T>(ctx.memory(), X.n_rows(), n_cols);
      put_dense(ctx, X, dense.view());
    }
  }
  // Calls put(column, value) for what is not 0 in a row, in ascending order.
  template <class Put>
  void row(std::int64_t i, const Put& put) const {
    if (const CsrView<const T> A = sparse.view(); A.rows > 0) {
      const auto offsets = host_view(A.offsets);
      const auto columns = host_view(A.columns);
      const auto values = host_view(A.values);
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) put(columns[e], values[e]);
    }
    const auto cells = host_view(dense.view()).row(i);
    for (std::int64_t j = 0; j < dense.cols(); ++j)
      if (const T value = cells[j]; value != 0) put(static_cast<std::int32_t>(j), value);
  }
};

// Needs a device that uses the host's memory.
template <class T>
CsrMatrix<T> sparse_side_by_side(const Context& ctx, const std::vector<Samples<T>>& made, const std::vector<double>& weights,
                                 std::int64_t n_cols) {
  std::vector<HostPart<T>> parts;
  for (std::size_t i = 0; i < made.size(); ++i) parts.emplace_back(ctx, weighted(made[i], weights[i]));
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (std::int64_t row = 0; row < made.front().n_rows(); ++row) {
    std::int32_t first = 0;
    for (const HostPart<T>& part : parts) {
      part.row(row, [&](std::int32_t column, T value) {
        columns.push_back(first + column);
        values.push_back(value);
      });
      first += static_cast<std::int32_t>(part.n_cols);
    }
    offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
  return CsrMatrix<T>(ctx.memory(), n_cols, std::span<const std::int64_t>(offsets), std::span<const std::int32_t>(columns),
                      std::span<const T>(values));
}

// Whether a part is sparse, host code can join the rows, and they take less memory so.
template <class T>
bool are_better_sparse(const Context& ctx, const std::vector<Samples<T>>& made, std::int64_t n_cols) {
  const auto is_sparse = [](const Samples<T>& X) { return X.is_sparse(); };
  if (!ctx.device.traits().uses_host_memory || std::ranges::none_of(made, is_sparse)) return false;
  std::int64_t entries = 0;
  for (const Samples<T>& X : made) entries += X.is_sparse() ? X.table->sparse->n_entries() : X.n_rows() * X.n_cols();
  return is_better_sparse(made.front().n_rows(), n_cols, entries, sizeof(T));
}

}  // namespace

template <class T>
Samples<T> side_by_side(const Context& ctx, const std::vector<Samples<T>>& made, const std::vector<double>& weights,
                        std::vector<Feature> features) {
  const std::int64_t n_rows = made.front().n_rows(), n_cols = static_cast<std::int64_t>(features.size());
  if (are_better_sparse(ctx, made, n_cols)) return samples_of(sparse_side_by_side(ctx, made, weights, n_cols), std::move(features));
  Matrix<T> out = table_matrix<T>(ctx.device, n_rows, n_cols);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    put_dense(ctx, weighted(made[i], weights[i]), {out.data() + first, n_rows, made[i].n_cols(), n_cols});
    first += made[i].n_cols();
  }
  return samples_of(std::move(out), std::move(features));
}

template Samples<float> side_by_side(const Context&, const std::vector<Samples<float>>&, const std::vector<double>&,
                                     std::vector<Feature>);
template Samples<double> side_by_side(const Context&, const std::vector<Samples<double>>&, const std::vector<double>&,
                                      std::vector<Feature>);

}  // namespace kedge::engine
