// Writes the table that an .npz file holds.
#include "server/data/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "schemas/error.h"
#include "server/data/npz_layout.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kBlockCells = std::int64_t{1} << 18;   // of the table, written together: they stay in the cache
constexpr std::int64_t kMostBlockRows = 4096;
constexpr std::int64_t kSparseShare = 4;   // one value in so many, as of libsvm

void check_stop(const ParseRequest& request) {
  if (request.parallel.stop.stop_requested()) throw Error(ErrorCode::kCancelled, "the upload was given up");
}

// The columns of a table whose values come row by row, or many rows at once.
template <class T>
class DenseWriter {
 public:
  DenseWriter(const NpzLayout& layout, engine::DatasetFileWriter& writer, std::span<T> values,
              const ParseRequest& request)
      : layout_(layout), meta_(writer.meta()), values_(values), request_(request), width_(meta_.n_values_columns) {}

  // Several columns at a time, a block of rows after the other, where they can be read at once.
  void columns(const std::vector<NpzPart>& parts, std::int64_t first) {
    const bool may_be_together =
        std::ranges::none_of(parts, [](const NpzPart& part) { return part.member->is_deflated; });
    const std::size_t together =
        may_be_together ? std::max<std::size_t>(parts.size(), 1) : 1;   // an inflation takes much memory
    for (std::size_t begin = 0; begin < parts.size(); begin += together)
      group(std::span(parts).subspan(begin, std::min(together, parts.size() - begin)),
            first + static_cast<std::int64_t>(begin));
  }

  void matrix(NpzArray& array) {
    std::vector<const std::vector<std::string>*> categories(static_cast<std::size_t>(layout_.n_features));
    for (const auto& [place, texts] : layout_.categories) categories[static_cast<std::size_t>(place)] = &texts;
    const bool is_fortran = array.header().fortran;
    const std::int64_t outer = is_fortran ? layout_.n_features : layout_.n_rows,
                       inner = is_fortran ? layout_.n_rows : layout_.n_features;
    std::vector<double> line(static_cast<std::size_t>(std::min(inner, kBlockCells)));
    for (std::int64_t i = 0; i < outer; ++i)
      for (std::int64_t j = 0; j < inner; j += static_cast<std::int64_t>(line.size())) {
        if (j == 0 && i % kMostBlockRows == 0) check_stop(request_);
        const auto part =
            std::span(line).first(static_cast<std::size_t>(std::min<std::int64_t>(inner - j, std::ssize(line))));
        array.read(part);
        for (std::size_t k = 0; k < part.size(); ++k) {
          const std::int64_t at = j + static_cast<std::int64_t>(k), row = is_fortran ? at : i,
                             column = is_fortran ? i : at;
          if (const auto* texts = categories[static_cast<std::size_t>(column)])
            part[k] = npz_code(part[k], texts->size(), array);
          put(row, column, part[k]);
        }
      }
    array.finish();
  }

 private:
  void put(std::int64_t row, std::int64_t column, double value) {
    values_[static_cast<std::size_t>(row * width_ + column)] = static_cast<T>(value);
    meta_.columns[static_cast<std::size_t>(column)].missing += value != value;
  }

  void group(std::span<const NpzPart> parts, std::int64_t first) {
    std::deque<NpzColumn> columns;   // which do not move
    for (const NpzPart& part : parts) columns.emplace_back(*part.member, request_.source, part.texts());
    const std::int64_t block = std::clamp<std::int64_t>(kBlockCells / std::ssize(columns), 1, kMostBlockRows);
    std::vector<double> values(static_cast<std::size_t>(block));
    for (std::int64_t row = 0; row < layout_.n_rows; row += block) {
      check_stop(request_);
      const auto part = std::span(values).first(static_cast<std::size_t>(std::min(block, layout_.n_rows - row)));
      for (std::size_t c = 0; c < columns.size(); ++c) {
        columns[c].read(part);
        for (std::size_t k = 0; k < part.size(); ++k)
          put(row + static_cast<std::int64_t>(k), first + static_cast<std::int64_t>(c), part[k]);
      }
    }
    for (NpzColumn& column : columns) column.array().finish();
  }

  const NpzLayout& layout_;
  engine::DatasetMeta& meta_;
  const std::span<T> values_;
  const ParseRequest& request_;
  const std::int64_t width_;
};

// Reads the rows of a sparse matrix, with what is behind its columns: calls entry(row, column, value) for each value
// that is not 0, columns ascending, and row_ends(row).
class SparseRows {
 public:
  SparseRows(const ZipFile& zip, const NpzLayout& layout, const ParseRequest& request)
      : layout_(layout),
        request_(request),
        data_(*find_npz_member(zip, "data"), request.source),
        indices_(*find_npz_member(zip, "indices"), request.source),
        offsets_(*find_npz_member(zip, "indptr"), request.source) {
    for (NpzArray* const array : {&data_, &indices_, &offsets_}) {
      array->require_numbers();
      array->require_dimensions(1);
    }
    for (NpzArray* const array : {&indices_, &offsets_})
      if (array->header().kind == 'f') array->refuse("the type must be one of integers");
    if (offsets_.size() - 1 != layout.n_rows)
      offsets_.refuse(
          fmt::format("it has {} elements, must have one more than the {} rows", offsets_.size(), layout.n_rows));
    if (indices_.size() != data_.size())
      indices_.refuse(fmt::format("it has {} elements, data has {}", indices_.size(), data_.size()));
    if (offsets_.next() != 0) offsets_.refuse("it must begin with 0");
    for (const NpzPart& part : layout.extras) extras_.emplace_back(*part.member, request.source, part.texts());
  }

  template <class Entry, class RowEnds>
  void for_each(const Entry& entry, const RowEnds& row_ends) {
    std::int64_t done = 0;
    for (std::int64_t row = 0; row < layout_.n_rows; ++row) {
      if (row % kMostBlockRows == 0) check_stop(request_);
      const double end = offsets_.next();
      if (!(end >= static_cast<double>(done) && end <= static_cast<double>(data_.size())))
        offsets_.refuse(
            fmt::format("row {} ends at {}, after one that ends at {} of {}", row + 1, end, done, data_.size()));
      std::int64_t before = -1;
      for (; static_cast<double>(done) < end; ++done) {
        const std::int64_t column = column_behind(before, row);
        const double value = data_.next();
        if (value != 0) entry(row, column, value);
        before = column;
      }
      for (std::size_t e = 0; e < extras_.size(); ++e) {
        double value = 0;
        extras_[e].read(std::span(&value, 1));
        if (value != 0) entry(row, layout_.n_features + static_cast<std::int64_t>(e), value);
      }
      row_ends(row);
    }
    if (done != data_.size()) offsets_.refuse(fmt::format("its rows have {} values, data has {}", done, data_.size()));
    for (NpzArray* const array : {&data_, &indices_, &offsets_}) array->finish();
  }

 private:
  std::int64_t column_behind(std::int64_t before, std::int64_t row) {
    const double column = indices_.next();
    if (!(column >= 0 && column < static_cast<double>(layout_.n_features)))
      indices_.refuse(fmt::format("row {}: there is no column {}, there are {}", row + 1, column, layout_.n_features));
    if (column <= static_cast<double>(before))
      indices_.refuse(fmt::format("row {}: column {} comes after {}; call sum_duplicates(), which sorts as well",
                                  row + 1, column, before));
    return static_cast<std::int64_t>(column);
  }

  const NpzLayout& layout_;
  const ParseRequest& request_;
  NpzArray data_, indices_, offsets_;
  std::deque<NpzColumn> extras_;
};

struct SparseCounts {
  std::int64_t n_entries = 0;
  bool is_exact = true;   // in float32
};

SparseCounts count(SparseRows rows) {
  SparseCounts counts;
  rows.for_each(
      [&](std::int64_t, std::int64_t, double value) {
        ++counts.n_entries;
        counts.is_exact =
            counts.is_exact && (value != value || static_cast<double>(static_cast<float>(value)) == value);
      },
      [](std::int64_t) {});
  return counts;
}

// Missing values of more columns than have a name are not counted, as those of libsvm are not.
void note_missing(engine::DatasetMeta& meta, std::int64_t column, double value) {
  if (value == value || column < meta.indexed.count) return;
  ++meta.columns[static_cast<std::size_t>(column - meta.indexed.count)].missing;
}

template <class T>
void write_sparse(SparseRows rows, engine::DatasetFileWriter& writer, engine::SparseSpans<T> out) {
  std::size_t at = 0;
  rows.for_each(
      [&](std::int64_t, std::int64_t column, double value) {
        out.columns[at] = static_cast<std::int32_t>(column), out.values[at] = static_cast<T>(value);
        ++at;
        note_missing(writer.meta(), column, value);
      },
      [&](std::int64_t row) { out.offsets[static_cast<std::size_t>(row) + 1] = static_cast<std::int64_t>(at); });
}

template <class T>
void write_filled(SparseRows rows, engine::DatasetFileWriter& writer, std::span<T> out) {
  const std::int64_t width = writer.meta().n_values_columns;
  rows.for_each(
      [&](std::int64_t row, std::int64_t column, double value) {
        out[static_cast<std::size_t>(row * width + column)] = static_cast<T>(value);
        note_missing(writer.meta(), column, value);
      },
      [](std::int64_t) {});
}

// Of the values of a dense or sparse file that is open.
template <class T>
void write(const ZipFile& zip, const NpzLayout& layout, const ParseRequest& request, engine::DatasetFileWriter& writer,
           std::span<T> dense, engine::SparseSpans<T> sparse) {
  if (writer.meta().is_sparse()) return write_sparse(SparseRows(zip, layout, request), writer, sparse);
  if (layout.form == NpzForm::kSparse) return write_filled(SparseRows(zip, layout, request), writer, dense);
  DenseWriter<T> out(layout, writer, dense, request);
  if (layout.form == NpzForm::kMatrix) {
    NpzArray array(*find_npz_member(zip, "X"), request.source);
    out.matrix(array);
  } else {
    out.columns(layout.features, 0);
  }
  out.columns(layout.extras, layout.n_features);
}

}   // namespace

engine::DatasetMeta parse_npz(std::string_view bytes, const ParseRequest& request) {
  const ZipFile zip(bytes, request.source);
  const NpzLayout layout = read_npz_layout(zip, request.source);
  engine::DatasetMeta meta = meta_of(layout);
  if (request.describe) request.describe(meta);
  meta.target = layout.has_target ? layout.extras.front().name : "";
  if (layout.form == NpzForm::kSparse) {
    const SparseCounts counts = count(SparseRows(zip, layout, request));
    meta.is_float32 = meta.is_float32 && counts.is_exact;
    if (counts.n_entries / meta.n_rows < meta.n_values_columns / kSparseShare) meta.n_entries = counts.n_entries;
  }
  engine::DatasetFileWriter writer(request.output, meta);
  if (meta.is_float32) write(zip, layout, request, writer, writer.values_f32(), writer.sparse_f32());
  else write(zip, layout, request, writer, writer.values_f64(), writer.sparse_f64());
  if (request.complete) request.complete(writer.meta());
  writer.finish();
  return writer.meta();
}

}   // namespace kedge::server
