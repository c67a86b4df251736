// See own_rows.h.
#include "engine/table/own_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "engine/comm/bytes.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/core/demand_rows.h"
#include "engine/core/host_view.h"
#include "engine/table/row_source.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{32} << 20;   // how often a cancel is looked for

// What is wrong in the rows of a rank, in the order in which a whole table is searched: by row, or, where missing
// values are taken, by column.
struct Fault {
  std::int64_t row = std::numeric_limits<std::int64_t>::max(), col = row;
  bool has_missing = false;
  bool is_there() const { return row != std::numeric_limits<std::int64_t>::max(); }
};

// S: of the data file.
template <class T, class S>
class Loaded final : public OwnRows<T>, public std::enable_shared_from_this<Loaded<T, S>> {
 public:
  Loaded(const Context& ctx, const Selection& selection, std::span<const S> values, const DatasetMeta& meta)
      : selection_(selection),
        source_(values, meta, selection_),
        rows_(ctx.memory(), selection.n_cols(), [this](std::int64_t row, T* out) { copy_row(source_, row, out); }) {
    table_.X = Matrix<T>(rows_.memory(), selection.n_rows, selection.n_cols());
    table_.features = selection.features;
  }

  std::shared_ptr<Table<T>> table() const override {
    const std::shared_ptr<const Loaded> self = this->shared_from_this();
    return {self, const_cast<Table<T>*>(&table_)};   // what is derived from a table is kept in it
  }
  std::int64_t held() const override { return rows_.held(); }

  void bring(const Context& ctx, Ranks& ranks) {
    const Part own = own_rows(&ranks, selection_.n_rows);
    const PartedBytes shares = ranks.share([&] {
      fill(ctx, own);
      const Fault fault = find_fault(ctx, own);
      ByteWriter out;
      out.number(fault.row), out.number(fault.col), out.number(fault.has_missing);
      return out.take();
    });
    Fault first;
    bool has_missing = false;
    for (int r = 0; r < shares.size(); ++r) {
      ByteReader in(shares.part(r));
      Fault fault;
      fault.row = in.number<std::int64_t>(), fault.col = in.number<std::int64_t>();
      has_missing |= in.number<bool>();
      const bool is_earlier = selection_.accepted.nan ? fault.col < first.col : fault.row < first.row;
      if (is_earlier) first = fault;
    }
    if (first.is_there()) refuse_value(source_, {first.row, first.col}, sizeof(T) == 4 ? "float32" : "float64");
    table_.is_finite = !has_missing;
  }

 private:
  void fill(const Context& ctx, Part own) {
    const std::int64_t d = selection_.n_cols(), chunk = kChunkBytes / (d * static_cast<std::int64_t>(sizeof(T))) + 1;
    rows_.bring(own.begin, own.size(), [&](T* table) {
      for (std::int64_t first = own.begin; first < own.end; first += chunk) {
        ctx.check_stop();
        copy_rows(source_, first, std::min(chunk, own.end - first), table + first * d);
      }
    });
  }

  Fault find_fault(const Context& ctx, Part own) const {
    Fault fault;
    const MatrixView<const T> X = table_.X.view().row_range(own.begin, own.size());
    const std::optional<Cell> cell = ctx.ops<T>().tables->find_nonfinite(X);
    if (!cell) return fault;
    fault.has_missing = true;
    if (!selection_.accepted.nan) {
      fault.row = own.begin + cell->row, fault.col = cell->col;
      return fault;
    }
    const T* const values = host_view(X).row(0).data();
    for (std::int64_t i = cell->row; i < own.size(); ++i)
      for (std::int64_t j = 0; j < X.cols; ++j)
        if (std::isinf(values[i * X.cols + j]) && j < fault.col) fault.row = own.begin + i, fault.col = j;
    return fault;
  }

  const Selection selection_;
  const RowSource<S> source_;
  DemandRows<T> rows_;
  Table<T> table_;
};

template <class T, class S>
std::shared_ptr<const OwnRows<T>> loaded(const Context& ctx, const Selection& selection, std::span<const S> values,
                                         const DatasetMeta& meta, Ranks& ranks) {
  auto made = std::make_shared<Loaded<T, S>>(ctx, selection, values, meta);
  made->bring(ctx, ranks);
  return made;
}

}   // namespace

bool can_load_own_rows(bool is_host, const Selection& selection, const DatasetMeta& meta) {
  const auto is_mapped = [](const FeatureSource& from) { return static_cast<bool>(from.cells); };
  return is_host && !meta.is_sparse() && selection.n_rows >= kLeastDealtRows &&
         std::ranges::none_of(selection.sources, is_mapped);
}

std::int64_t own_rows_bytes(const Ranks& ranks, const Selection& selection) {
  return own_rows(&ranks, selection.n_rows).size() * selection.n_cols() * (selection.is_float32 ? 4 : 8);
}

template <class T>
std::shared_ptr<const OwnRows<T>> OwnRows<T>::load(const Context& ctx, const Selection& selection,
                                                   const DatasetFile& data, Ranks& ranks) {
  if (data.meta().is_float32) return loaded<T, float>(ctx, selection, data.values_f32(), data.meta(), ranks);
  return loaded<T, double>(ctx, selection, data.values_f64(), data.meta(), ranks);
}

template class OwnRows<float>;
template class OwnRows<double>;

}   // namespace kedge::engine
