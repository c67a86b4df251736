// See own_values.h.
#include "engine/estimators/own_values.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/comm/dealt_blocks.h"
#include "engine/core/host_view.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/inner_folds.h"

namespace kedge::engine {

namespace {

// Those that divide the sums over all rows of a dense table in the host's memory; null: none.
template <class T>
Ranks* ranks_of_table(const Context& ctx, const Samples<T>& X) {
  const bool can_be = X.n_rows() >= kLeastDealtRows && ctx.device.traits().uses_host_memory;
  return can_be && !X.is_sparse() && !X.rows ? ranks_of_row_sums() : nullptr;
}

// As TableOps::gather(), or DesignOps::gather().
template <class T, class To>
void map_row(const Samples<T>& X, const T* row, To* out) {
  for (std::size_t j = 0; j < X.shift.size(); ++j)
    out[j] = static_cast<To>((static_cast<double>(row[j]) - X.shift[j]) * X.scale[j]);
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
  rows_.emplace(ctx.memory(), d, [table, d, &X](std::int64_t row, T* out) { map_row(X, table + row * d, out); });
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

namespace {

// Those of the rows at these positions that are this rank's, as the table has them.
template <class T>
std::vector<std::byte> own_bytes(const Ranks& ranks, const Samples<T>& X, const std::vector<std::int32_t>& positions) {
  const Part own = own_rows(&ranks, X.n_rows());
  const auto first = std::ranges::lower_bound(positions, own.begin),
             last = std::ranges::lower_bound(positions, own.end);
  ByteWriter out;
  for (auto row = first; row != last; ++row) {
    const auto values = host_view(std::as_const(X.table->X).view()).row(*row);
    out.append(values.data(), static_cast<std::size_t>(values.size()) * sizeof(T));
  }
  return out.take();
}

}   // namespace

template <class T>
OwnCentredValues<T>::OwnCentredValues(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean)
    : centred_(X.then(mean, std::vector<double>(mean.size(), 1.0))) {
  const CentredDesign<T> read(ctx, X, mean);
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  DesignOps<T>& ops = *ctx.ops<T>().design;
  const Ranks* const ranks = ranks_of_table(ctx, X);
  if (!ranks) {
    values_ = Matrix<double>(ctx.memory(), n, d);
    ops.gather(read.design, 0, values_.view());
    return;
  }
  const T* const table = host_view(std::as_const(X.table->X).view()).row(0).data();
  rows_.emplace(ctx.memory(), d,
                [this, table, d](std::int64_t row, double* out) { map_row(centred_, table + row * d, out); });
  values_ = Matrix<double>(rows_->memory(), n, d);
  const Part own = own_rows(ranks, n);
  rows_->bring(own.begin, own.size(),
               [&](double*) { ops.gather(read.design, own.begin, values_.view().row_range(own.begin, own.size())); });
}

template <class T>
Samples<T> drawn_rows(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& positions) {
  Ranks* const ranks = ranks_of_table(ctx, X);
  if (!ranks) return rows_at(ctx, X, std::span<const std::int32_t>(positions));
  const PartedBytes shares = ranks->share([&] { return own_bytes(*ranks, X, positions); });
  Matrix<T> drawn(ctx.memory(), std::ssize(positions), X.n_cols());
  ctx.memory().to_device(drawn.data(), shares.bytes.data(), shares.bytes.size());
  Samples<T> samples = samples_of(std::move(drawn), X.table->features);
  samples.table->is_finite = X.table->is_finite, samples.shift = X.shift, samples.scale = X.scale;
  return samples;
}

template <class T>
std::vector<double> rows_of_first_rank(const Context& ctx, const Samples<T>& X,
                                       const std::vector<std::int32_t>& positions) {
  if (positions.empty()) return {};
  if (!has_own_rows(ctx, X)) return host_values(ctx, rows_at(ctx, X, std::span<const std::int32_t>(positions)));
  Ranks* const ranks = ranks_of_table(ctx, X);
  const auto d = static_cast<std::size_t>(X.n_cols());
  std::vector<double> values;
  std::vector<T> row(d), mapped(d);
  for (int from = 0; from < ranks->size(); ++from) {
    const PartedBytes shares = ranks->gather([&] {
      if (from == 0 && ranks->is_first()) values.reserve(positions.size() * d);
      return from == ranks->rank() ? own_bytes(*ranks, X, positions) : std::vector<std::byte>();
    });
    for (std::size_t at = 0; at < shares.bytes.size(); at += d * sizeof(T)) {
      std::memcpy(row.data(), shares.bytes.data() + at, d * sizeof(T));
      if (X.is_affine()) map_row(X, row.data(), mapped.data());
      const std::vector<T>& found = X.is_affine() ? mapped : row;
      values.insert(values.end(), found.begin(), found.end());
    }
  }
  return values;
}

namespace {

constexpr std::int64_t kStopRows = 1 << 14;   // how often a cancel is looked for

// Keeps what its rows are made of.
template <class T>
class MadeRows {
 public:
  MadeRows(const Context& ctx, const Samples<T>& X, std::vector<Feature> features, MakeRow<T> make)
      : X_(X),
        make_(std::move(make)),
        mapped_(static_cast<std::size_t>(X.n_cols())),
        rows_(ctx.memory(), std::ssize(features),
              [this](std::int64_t row, T* out) { make_row(row, mapped_.data(), out); }) {
    table_.X = Matrix<T>(rows_.memory(), X.n_rows(), std::ssize(features));
    table_.features = std::move(features);
  }

  Table<T>& table() { return table_; }

  void bring(const Context& ctx, Ranks& ranks) {
    const PartedBytes shares = ranks.share([&] {
      const Part own = own_rows(&ranks, X_.n_rows());
      rows_.bring(own.begin, own.size(), [&](T* made) { make_rows(ctx, own, made); });
      ByteWriter out;
      const MatrixView<const T> here = std::as_const(table_.X).view().row_range(own.begin, own.size());
      out.number(!ctx.ops<T>().tables->find_nonfinite(here).has_value());
      return out.take();
    });
    bool is_finite = true;
    for (int r = 0; r < shares.size(); ++r) is_finite &= ByteReader(shares.part(r)).number<bool>();
    table_.is_finite = is_finite;
  }

 private:
  // mapped: room for a row.
  void make_row(std::int64_t row, T* mapped, T* out) const {
    const T* cells = host_view(std::as_const(X_.table->X).view()).row(row).data();
    if (X_.is_affine()) {
      map_row(X_, cells, mapped);
      cells = mapped;
    }
    make_(cells, out);
  }

  void make_rows(const Context& ctx, Part own, T* made) const {
    const std::int64_t cols = table_.X.cols();
    for (std::int64_t first = own.begin; first < own.end; first += kStopRows) {
      ctx.check_stop();
      const std::int64_t end = std::min(own.end, first + kStopRows);
#pragma omp parallel
      {
        std::vector<T> mapped(mapped_.size());
#pragma omp for
        for (std::int64_t i = first; i < end; ++i) make_row(i, mapped.data(), made + i * cols);
      }
    }
  }

  const Samples<T> X_;
  const MakeRow<T> make_;
  std::vector<T> mapped_;   // for a row that is read
  DemandRows<T> rows_;
  Table<T> table_;
};

}   // namespace

template <class T>
bool has_own_rows(const Context& ctx, const Samples<T>& X) {
  return ranks_of_table(ctx, X) && DemandMemory::any_holds(host_view(std::as_const(X.table->X).view()).row(0).data());
}

template <class T>
Samples<T> made_rows(const Context& ctx, const Samples<T>& X, std::vector<Feature> features, MakeRow<T> make) {
  const auto made = std::make_shared<MadeRows<T>>(ctx, X, std::move(features), std::move(make));
  made->bring(ctx, *ranks_of_table(ctx, X));
  return {.table = {made, &made->table()}};
}

template class OwnValues<float>;
template class OwnValues<double>;
template class OwnCentredValues<float>;
template class OwnCentredValues<double>;
template Samples<float> drawn_rows(const Context&, const Samples<float>&, const std::vector<std::int32_t>&);
template Samples<double> drawn_rows(const Context&, const Samples<double>&, const std::vector<std::int32_t>&);

template std::vector<double> rows_of_first_rank(const Context&, const Samples<float>&,
                                                const std::vector<std::int32_t>&);
template std::vector<double> rows_of_first_rank(const Context&, const Samples<double>&,
                                                const std::vector<std::int32_t>&);
template bool has_own_rows(const Context&, const Samples<float>&);
template bool has_own_rows(const Context&, const Samples<double>&);
template Samples<float> made_rows(const Context&, const Samples<float>&, std::vector<Feature>, MakeRow<float>);
template Samples<double> made_rows(const Context&, const Samples<double>&, std::vector<Feature>, MakeRow<double>);

}   // namespace kedge::engine
