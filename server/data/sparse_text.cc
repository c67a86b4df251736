// Counts and writes sparse rows, pieces in parallel.
#include "server/data/sparse_text.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace kedge::server {
namespace {

constexpr std::int64_t kSparseShare = 4;  // one value in so many

// Writes rows at their place in a sparse or a dense file.
template <class T>
class RowWriter {
 public:
  RowWriter(engine::SparseSpans<T> out, std::int64_t row, std::int64_t entry)
      : is_sparse_(true), sparse_(out), row_(row), entry_(entry) {}
  RowWriter(std::span<T> out, std::int64_t width, std::int64_t row) : is_sparse_(false), dense_(out), width_(width), row_(row) {}

  void add(const SparseRow& row, const SparsePlaces& places) {
    for (std::size_t e = 0; e < row.columns.size(); ++e) {
      const std::int32_t column = places.of(row.columns[e]);
      if (is_sparse_) {
        sparse_.columns[static_cast<std::size_t>(entry_)] = column;
        sparse_.values[static_cast<std::size_t>(entry_++)] = static_cast<T>(row.values[e]);
      } else {
        dense_[static_cast<std::size_t>(row_ * width_ + column)] = static_cast<T>(row.values[e]);
      }
    }
    ++row_;
    if (is_sparse_) sparse_.offsets[static_cast<std::size_t>(row_)] = entry_;
  }

 private:
  bool is_sparse_;   // a dense file without columns of values is empty, too
  engine::SparseSpans<T> sparse_;
  std::span<T> dense_;
  std::int64_t width_ = 0, row_ = 0, entry_ = 0;
};

}  // namespace

void SparseCounts::add(const SparseRow& row) {
  ++n_rows;
  n_entries += static_cast<std::int64_t>(row.columns.size());
  for (const double value : row.values)
    is_exact = is_exact && (value != value || static_cast<double>(static_cast<float>(value)) == value);
  least = std::min(least, row.least), most = std::max(most, row.most);
}

void SparseCounts::add(const SparseCounts& other) {
  n_rows += other.n_rows, n_entries += other.n_entries;
  least = std::min(least, other.least), most = std::max(most, other.most);
  is_exact = is_exact && other.is_exact;
}

SparseText::SparseText(std::string_view text, const ParseRequest& request)
    : text_(text),
      request_(request),
      chunks_(cut_at_line_ends(text, kChunkBytes, false)),
      by_chunk_(chunks_.size()) {}

void SparseText::read_chunk(std::size_t i, const MakeReader& make,
                            const std::function<void(const SparseRow&)>& row) const {
  const auto reader = make(i);
  SparseRow entries;
  for (const char* p = chunks_[i].begin; p < chunks_[i].end;) {
    const void* found = std::memchr(p, '\n', static_cast<std::size_t>(chunks_[i].end - p));
    const char* const end = found ? static_cast<const char*>(found) : chunks_[i].end;
    if (reader->is_row(p, end)) {
      entries.clear();
      reader->read(p, end, entries);
      row(entries);
    }
    p = end + 1;
  }
}

SparseCounts SparseText::count(const MakeReader& make) {
  for_each_chunk(
      chunks_, {request_.parallel.threads, {}, request_.parallel.stop}, text_, request_.source,
      [&](std::size_t i) { read_chunk(i, make, [&](const SparseRow& row) { by_chunk_[i].add(row); }); });
  SparseCounts all;
  for (const SparseCounts& counts : by_chunk_) all.add(counts);
  return all;
}

engine::DatasetMeta SparseText::write(const MakeReader& make, engine::DatasetMeta meta,
                                      const SparseCounts& counts, const SparsePlaces& places) {
  meta.n_rows = counts.n_rows, meta.is_float32 = counts.is_exact;
  const bool is_sparse =
      counts.n_entries / std::max<std::int64_t>(counts.n_rows, 1) < meta.n_values_columns / kSparseShare;
  meta.n_entries = is_sparse ? counts.n_entries : -1;
  engine::DatasetFileWriter writer(request_.output, meta);
  const auto fill = [&](auto sparse, auto dense) {
    for_each_chunk(chunks_, request_.parallel, text_, request_.source, [&](std::size_t i) {
      std::int64_t row = 0, entry = 0;
      for (std::size_t before = 0; before < i; ++before)
        row += by_chunk_[before].n_rows, entry += by_chunk_[before].n_entries;
      using Value = typename decltype(dense)::value_type;
      auto out = is_sparse ? RowWriter<Value>(sparse, row, entry)
                           : RowWriter<Value>(dense, meta.n_values_columns, row);
      read_chunk(i, make, [&](const SparseRow& entries) { out.add(entries, places); });
    });
  };
  if (meta.is_float32)
    fill(writer.sparse_f32(), writer.values_f32());
  else
    fill(writer.sparse_f64(), writer.values_f64());
  if (request_.complete) request_.complete(writer.meta());
  writer.finish();
  return writer.meta();
}

}  // namespace kedge::server
