// Parses ARFF rows in parallel, straight into the mapped data set file.
#include <fmt/core.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "server/data/arff_header.h"
#include "server/data/cell.h"
#include "server/data/number.h"
#include "server/data/parse.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using engine::DatasetFileWriter;
using engine::DatasetMeta;

constexpr char kNoCloser = '\n';   // dense cells end at commas and at the line's end

// Codes of a nominal column's categories. Few are searched one by one, which beats hashing.
class CategoryCodes {
 public:
  explicit CategoryCodes(const std::vector<std::string>& categories) : names_(categories) {
    if (names_.size() <= kFew) return;
    for (std::size_t i = 0; i < names_.size(); ++i) codes_.emplace(names_[i], static_cast<std::int64_t>(i));
  }
  std::int64_t find(std::string_view name) const {   // -1: not declared
    if (names_.size() > kFew) {
      const auto found = codes_.find(name);
      return found == codes_.end() ? -1 : found->second;
    }
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return static_cast<std::int64_t>(i);
    return -1;
  }

 private:
  static constexpr std::size_t kFew = 16;
  const std::vector<std::string>& names_;
  std::unordered_map<std::string_view, std::int64_t> codes_;
};

bool is_row(const char* line, const char* end) {
  line = skip_blanks(line, end);
  return line != end && *line != '%';
}

// Calls row(begin, end) for every line with data; end is its line feed or the end of the text.
template <class Row>
void for_each_row(const TextChunk& chunk, const Row& row) {
  for (const char* p = chunk.begin; p != chunk.end;) {
    const void* found = std::memchr(p, '\n', static_cast<std::size_t>(chunk.end - p));
    const char* const line_end = found ? static_cast<const char*>(found) : chunk.end;
    if (is_row(p, line_end)) row(p, line_end);
    p = found ? line_end + 1 : chunk.end;
  }
}

// Reads the rows of one chunk.
template <class T>
class RowReader {
 public:
  RowReader(const std::vector<ColumnInfo>& columns, const std::vector<CategoryCodes>& codes)
      : columns_(columns), codes_(codes), missing_(columns.size(), 0) {}

  const std::vector<std::int64_t>& missing() const { return missing_; }

  void read(const char* p, const char* end, T* out) {
    p = skip_blanks(p, end);
    if (*p == '{') read_sparse(p + 1, end, out);
    else read_dense(p, end, out);
  }

 private:
  void read_dense(const char* p, const char* end, T* out) {
    const std::size_t n = columns_.size();
    for (std::size_t c = 0; c < n; ++c) {
      const char* const next = read_cell(c, p, end, kNoCloser, out);
      const bool last = c + 1 == n;
      if (next == end && !last)
        throw CellError{p, fmt::format("{} values, but {} attributes are declared", c + 1, n)};
      if (next != end && last) throw CellError{next, fmt::format("more than the {} values of the declared attributes", n)};
      p = next + 1;
    }
  }

  // Cells that a sparse row leaves out are 0: the number, or the first category. The file is zero where nothing is written.
  void read_sparse(const char* p, const char* end, T* out) {
    std::int64_t previous = -1;
    p = skip_blanks(p, end);
    while (p != end && *p != '}') {
      const auto index = scan_number<double>(p, end);
      const bool valid = index.next && index.next != end && is_blank(*index.next) &&
                         index.value == static_cast<double>(static_cast<std::int64_t>(index.value));
      if (!valid) throw CellError{p, "a sparse value has no attribute index in front"};
      const auto column = static_cast<std::int64_t>(index.value);
      if (column <= previous) throw CellError{p, fmt::format("sparse index {} is not above the one before", column)};
      if (column >= static_cast<std::int64_t>(columns_.size()))
        throw CellError{p, fmt::format("sparse index {}, but only {} attributes are declared", column, columns_.size())};
      previous = column;
      p = read_cell(static_cast<std::size_t>(column), index.next, end, '}', out);
      if (p != end && *p == ',') p = skip_blanks(p + 1, end);
    }
    if (p == end) throw CellError{end, "a sparse row lacks its closing brace"};
    if (skip_blanks(p + 1, end) != end) throw CellError{p, "text behind the closing brace of a sparse row"};
  }

  // Returns the separator behind the cell, or the end.
  const char* read_cell(std::size_t c, const char* p, const char* end, char closer, T* out) {
    const ColumnInfo& column = columns_[c];
    if (column.type == ColumnInfo::Type::kNumeric) {
      const auto number = scan_number<T>(skip_blanks(p, end), end);
      if (number.next) {
        const char* const next = skip_blanks(number.next, end);
        if (next == end || *next == ',' || *next == closer) {
          store_number(c, number, out);
          return next;
        }
      }
    }
    return read_other_cell(c, p, end, closer, out);
  }

  const char* read_other_cell(std::size_t c, const char* p, const char* end, char closer, T* out) {
    const ColumnInfo& column = columns_[c];
    const auto cell = read_arff_cell(p, end, closer, scratch_);
    if (!cell) fail(c, p, "a quoted value does not end, or is followed by more text");
    if (!cell->quoted && (cell->text.empty() || cell->text == "?")) {
      ++missing_[c];
      if (column.values_column >= 0) out[column.values_column] = std::numeric_limits<T>::quiet_NaN();
    } else if (column.type == ColumnInfo::Type::kNominal) {
      const std::int64_t code = codes_[c].find(cell->text);
      if (code < 0) fail(c, p, fmt::format("'{}' is not one of its declared categories", cell->text.substr(0, 60)));
      out[column.values_column] = static_cast<T>(code);
    } else if (column.type == ColumnInfo::Type::kNumeric) {
      const auto number = scan_number<T>(cell->text.data(), cell->text.data() + cell->text.size());
      if (number.next != cell->text.data() + cell->text.size())
        fail(c, p, fmt::format("'{}' is not a number", cell->text.substr(0, 60)));
      store_number(c, number, out);
    }
    return cell->next;
  }

  void store_number(std::size_t c, const ScannedNumber<T>& number, T* out) {
    if (!number.exact) throw NeedsFloat64{};
    missing_[c] += number.value != number.value;   // written as nan
    out[columns_[c].values_column] = number.value;
  }

  [[noreturn]] void fail(std::size_t c, const char* at, const std::string& what) const {
    throw CellError{at, cell_message("attribute", c, columns_[c].name, what)};
  }

  const std::vector<ColumnInfo>& columns_;
  const std::vector<CategoryCodes>& codes_;
  std::vector<std::int64_t> missing_;
  std::string scratch_;
};

// Sets every chunk's first_row; returns the number of rows.
std::int64_t count_rows(std::vector<TextChunk>& chunks, const ParseRequest& request, std::string_view text) {
  std::vector<std::int64_t> rows(chunks.size(), 0);
  for_each_chunk(chunks, {request.parallel.threads, {}, request.parallel.stop}, text, request.source,
                 [&](std::size_t i) { for_each_row(chunks[i], [&](const char*, const char*) { ++rows[i]; }); });
  std::int64_t total = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) chunks[i].first_row = std::exchange(total, total + rows[i]);
  return total;
}

template <class T>
void read_rows(DatasetFileWriter& writer, std::span<T> values, const std::vector<TextChunk>& chunks, std::string_view text,
               const ParseRequest& request) {
  DatasetMeta& meta = writer.meta();
  std::vector<CategoryCodes> codes;
  codes.reserve(meta.columns.size());
  for (const ColumnInfo& column : meta.columns) codes.emplace_back(column.categories);
  std::mutex mutex;
  std::vector<std::int64_t> missing(meta.columns.size(), 0);
  for_each_chunk(chunks, request.parallel, text, request.source, [&](std::size_t i) {
    RowReader<T> reader(meta.columns, codes);
    T* out = values.data() + chunks[i].first_row * meta.n_values_columns;
    for_each_row(chunks[i], [&](const char* p, const char* end) {
      reader.read(p, end, out);
      out += meta.n_values_columns;
    });
    const std::int64_t first = chunks[i].first_row, next = i + 1 < chunks.size() ? chunks[i + 1].first_row : meta.n_rows;
    writer.rows_done(first, next - first);
    const std::lock_guard lock(mutex);
    for (std::size_t c = 0; c < missing.size(); ++c) missing[c] += reader.missing()[c];
  });
  for (std::size_t c = 0; c < missing.size(); ++c) meta.columns[c].missing = missing[c];
}

DatasetMeta write_rows(const DatasetMeta& meta, const std::vector<TextChunk>& chunks, std::string_view text,
                       const ParseRequest& request) {
  DatasetFileWriter writer(request.output, meta);
  if (meta.is_float32) read_rows(writer, writer.values_f32(), chunks, text, request);
  else read_rows(writer, writer.values_f64(), chunks, text, request);
  if (request.complete) request.complete(writer.meta());
  writer.finish();
  return writer.meta();
}

}  // namespace

std::string cell_message(const char* kind, std::size_t index, const std::string& name, const std::string& what) {
  return fmt::format("{} {} ('{}'): {}", kind, index + 1, name, what);
}

DatasetMeta parse_arff(std::string_view text, const ParseRequest& request) {
  ArffHeader header = read_arff_header(text, request.source);
  std::vector<TextChunk> chunks = cut_at_line_ends(text.substr(header.data_offset), kChunkBytes, false);
  DatasetMeta meta{.name = header.relation, .is_float32 = true, .n_values_columns = header.n_values_columns};
  meta.columns = std::move(header.columns);
  if (request.describe) request.describe(meta);
  meta.n_rows = count_rows(chunks, request, text);
  try {
    return write_rows(meta, chunks, text, request);
  } catch (const NeedsFloat64&) {
    meta.is_float32 = false;
    return write_rows(meta, chunks, text, request);
  }
}

}  // namespace kedge::server
