// See own_values.h.
#include "engine/estimators/own_values.h"

#include <algorithm>

#include "engine/comm/dealt_blocks.h"
#include "engine/core/host_view.h"

namespace kedge::engine {

template <class T>
OwnValues<T>::OwnValues(const Context& ctx, const Samples<T>& X) {
  const Ranks* const ranks = X.n_rows() >= kLeastDealtRows ? ranks_of_row_sums() : nullptr;
  if (!ranks || !ctx.device.traits().uses_host_memory || X.is_sparse() || X.rows || !X.is_affine()) {
    values_ = X.values(ctx, scratch_);
    return;
  }
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  const T* const table = host_view(std::as_const(X.table->X).view()).row(0).data();
  rows_.emplace(ctx.memory(), d, [table, d, &X](std::int64_t row, T* out) {   // as TableOps::gather()
    for (std::int64_t j = 0; j < d; ++j) {
      const auto at = static_cast<std::size_t>(j);
      out[j] = static_cast<T>((static_cast<double>(table[row * d + j]) - X.shift[at]) * X.scale[at]);
    }
  });
  demanded_ = Matrix<T>(rows_->memory(), n, d);
  const Part own = own_rows(ranks, n);
  const Array<double> shift(ctx.memory(), std::span<const double>(X.shift)),
      scale(ctx.memory(), std::span<const double>(X.scale));
  rows_->bring(own.begin, own.size(), [&](T*) {
    ctx.ops<T>().tables->gather(std::as_const(X.table->X).view().row_range(own.begin, own.size()), {}, shift.view(),
                                scale.view(), demanded_.view().row_range(own.begin, own.size()));
  });
  values_ = std::as_const(demanded_).view();
}

template class OwnValues<float>;
template class OwnValues<double>;

}   // namespace kedge::engine
