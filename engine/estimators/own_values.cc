// See own_values.h.
#include "engine/estimators/own_values.h"

#include <algorithm>

#include "engine/comm/dealt_blocks.h"
#include "engine/core/host_view.h"
#include "engine/estimators/inner_folds.h"

namespace kedge::engine {

namespace {

// Those that divide the sums over all rows of a dense table in the host's memory; null: none.
template <class T>
Ranks* ranks_of_table(const Context& ctx, const Samples<T>& X) {
  const bool can_be = X.n_rows() >= kLeastDealtRows && ctx.device.traits().uses_host_memory;
  return can_be && !X.is_sparse() && !X.rows ? ranks_of_row_sums() : nullptr;
}

}   // namespace

template <class T>
OwnValues<T>::OwnValues(const Context& ctx, const Samples<T>& X) {
  const Ranks* const ranks = ranks_of_table(ctx, X);
  if (!ranks || !X.is_affine()) {
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

template <class T>
Samples<T> drawn_rows(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& positions) {
  Ranks* const ranks = ranks_of_table(ctx, X);
  if (!ranks) return rows_at(ctx, X, std::span<const std::int32_t>(positions));
  const PartedBytes shares = ranks->share([&] {
    const Part own = own_rows(ranks, X.n_rows());
    const auto first = std::ranges::lower_bound(positions, own.begin),
               last = std::ranges::lower_bound(positions, own.end);
    ByteWriter out;
    for (auto row = first; row != last; ++row) {
      const auto values = host_view(std::as_const(X.table->X).view()).row(*row);
      out.append(values.data(), static_cast<std::size_t>(values.size()) * sizeof(T));
    }
    return out.take();
  });
  Matrix<T> drawn(ctx.memory(), std::ssize(positions), X.n_cols());
  ctx.memory().to_device(drawn.data(), shares.bytes.data(), shares.bytes.size());
  Samples<T> samples = samples_of(std::move(drawn), X.table->features);
  samples.table->is_finite = X.table->is_finite, samples.shift = X.shift, samples.scale = X.scale;
  return samples;
}

template class OwnValues<float>;
template class OwnValues<double>;
template Samples<float> drawn_rows(const Context&, const Samples<float>&, const std::vector<std::int32_t>&);
template Samples<double> drawn_rows(const Context&, const Samples<double>&, const std::vector<std::int32_t>&);

}   // namespace kedge::engine
