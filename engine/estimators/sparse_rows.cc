// Selects, scales and transposes the rows of sparse samples.
#include "engine/estimators/sparse_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

template <class T>
CsrMatrix<T> gathered(const Context& ctx, CsrView<const T> A, VectorView<const std::int32_t> rows,
                      std::int64_t n_rows, const std::vector<double>& scale) {
  const Array<double> device_scale(ctx.memory(), std::span<const double>(scale));
  Array<std::int64_t> offsets(ctx.memory(), n_rows + 1);
  const std::int64_t n = ctx.ops<T>().sparse->offsets(A, rows, offsets.view());
  CsrMatrix<T> out(ctx.memory(), A.cols, std::move(offsets), n);
  ctx.ops<T>().sparse->gather(A, rows, device_scale.view(), out.view());
  return out;
}

}  // namespace

template <class T>
SparseRows<T>::SparseRows(const Context& ctx, const Samples<T>& X) {
  require(std::ranges::all_of(X.shift, [](double s) { return s == 0; }), schema::ErrorCode::kInternal,
          "sparse samples have a shift");
  const CsrView<const T> table = std::as_const(*X.table->sparse).view();
  if (!X.rows && std::ranges::all_of(X.scale, [](double s) { return s == 1; }))
    table_ = table;
  else
    copy_ = gathered(ctx, table, X.row_view(), X.n_rows(), X.scale);
}

template <class T>
CsrMatrix<T> transposed(const Context& ctx, CsrView<const T> A) {
  require(A.n_entries() <= std::numeric_limits<std::int32_t>::max(), schema::ErrorCode::kBadData,
          "{} values of a sparse table are selected, at most {} can be computed with", A.n_entries(),
          std::numeric_limits<std::int32_t>::max());
  CsrMatrix<T> out(ctx.memory(), A.cols, A.rows, A.n_entries());
  ctx.ops<T>().sparse->transpose(A, out.view());
  return out;
}

template <class T>
CsrMatrix<T> taken_rows(const Context& ctx, CsrView<const T> A, VectorView<const std::int32_t> rows) {
  return gathered(ctx, A, rows, rows.size, {});
}

template <class T>
CsrMatrix<T> copied_rows(const Context& ctx, const Samples<T>& X) {
  return gathered(ctx, std::as_const(*X.table->sparse).view(), X.row_view(), X.n_rows(), X.scale);
}

template <class T>
CsrMatrix<T> unscaled_columns(const Context& ctx, const Samples<T>& X) {
  Samples<T> plain = X;
  plain.shift.clear(), plain.scale.clear();
  return transposed(ctx, SparseRows<T>(ctx, plain).view());
}

template <class T>
Matrix<double> product(const Context& ctx, CsrView<const T> A, const std::vector<double>& B, std::int64_t k) {
  const Matrix<double> right(ctx.memory(), A.cols, k, B);
  Matrix<double> out(ctx.memory(), A.rows, k);
  ctx.ops<T>().sparse->multiply(A, right.view(), out.view());
  return out;
}

#define KEDGE_INSTANTIATE(T)                                                                          \
  template class SparseRows<T>;                                                                       \
  template CsrMatrix<T> transposed(const Context&, CsrView<const T>);                                 \
  template CsrMatrix<T> taken_rows(const Context&, CsrView<const T>, VectorView<const std::int32_t>); \
  template CsrMatrix<T> copied_rows(const Context&, const Samples<T>&);                               \
  template CsrMatrix<T> unscaled_columns(const Context&, const Samples<T>&);                          \
  template Matrix<double> product(const Context&, CsrView<const T>, const std::vector<double>&, std::int64_t);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}  // namespace kedge::engine
