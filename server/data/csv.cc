// Parses CSV in parallel into the mapped data set file; what a column holds is found out on the way.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/core/missing_text.h"
#include "engine/core/require.h"
#include "server/data/cell.h"
#include "server/data/number.h"
#include "server/data/parse.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;
using engine::DatasetFileWriter;
using engine::DatasetMeta;

// One restart for columns that turn out to be nominal, one for float64, and one because a nominal column is not checked
// for both.
constexpr int kMostRestarts = 3;
constexpr std::size_t kSampleBytes = 65536;
constexpr std::size_t kMostCategories = std::size_t{1} << 24;   // codes beyond are not exact in float32

bool is_missing(const Cell& cell) {
  if (cell.text.empty()) return true;
  if (cell.quoted) return false;
  return cell.text == "?" || cell.text == "NA" || same_ignoring_case(cell.text, "nan");
}

const char* record_end(const char* p, const char* end) {
  bool inside = false;
  for (; p != end && (inside || *p != '\n'); ++p) inside ^= *p == '"';
  return p;
}

// Without any quote in the text a record is a line.
const char* line_end(const char* p, const char* end) {
  const void* found = p == end ? nullptr : std::memchr(p, '\n', static_cast<std::size_t>(end - p));
  return found ? static_cast<const char*>(found) : end;
}

template <class Row>
void for_each_record(const TextChunk& chunk, bool quoted, const Row& row) {
  for (const char* p = chunk.begin; p < chunk.end;) {
    const char* const end = quoted ? record_end(p, chunk.end) : line_end(p, chunk.end);
    if (skip_blanks(p, end) != end) row(p, end);
    p = end + 1;
  }
}

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
using Dictionary = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;

// What is known of the columns so far, shared by the threads.
struct Plan {
  std::vector<std::atomic<bool>> nominal;   // holds a text that is no number
  std::vector<std::atomic<bool>> wide;      // holds a number that float32 cannot hold
  explicit Plan(std::size_t n_columns) : nominal(n_columns), wide(n_columns) {}
};

// What one chunk contributes.
struct ChunkColumns {
  std::vector<std::int64_t> missing;
  std::vector<Dictionary> codes;   // codes in order of appearance within the chunk
};

template <class T>
class RecordReader {
 public:
  RecordReader(const std::vector<ColumnInfo>& columns, Plan& plan)
      : columns_(columns), plan_(plan), found_{std::vector<std::int64_t>(columns.size()), std::vector<Dictionary>(columns.size())} {
    for (const ColumnInfo& column : columns) nominal_.push_back(column.type == ColumnInfo::Type::kNominal);
    numeric_run_.resize(columns.size());
    for (std::size_t c = columns.size() - 1; c-- > 0;) numeric_run_[c] = nominal_[c] ? 0 : numeric_run_[c + 1] + 1;
  }
  ChunkColumns take() { return std::move(found_); }

  // `limit`: the end of the text around the record.
  void read(const char* p, const char* end, const char* limit, T* out) {
    const std::size_t n = columns_.size();
    for (std::size_t c = 0; c < n; ++c) {
      if (numeric_run_[c] > 0) {
        const ScannedRun run = scan_short_decimals(p, limit, out + c, numeric_run_[c]);
        p = run.next, c += run.n;
      }
      const char* const next = read_cell(c, p, end, out);
      const bool last = c + 1 == n;
      if (next == end && !last) throw CellError{p, fmt::format("{} cells, but the header names {} columns", c + 1, n)};
      if (next != end && last) throw CellError{next, fmt::format("more cells than the {} columns of the header", n)};
      p = next + 1;
    }
  }

 private:
  const char* read_cell(std::size_t c, const char* p, const char* end, T* out) {
    if (!nominal_[c]) {
      const auto number = scan_number<T>(skip_blanks(p, end), end);
      const char* const next = number.next ? skip_blanks(number.next, end) : nullptr;
      if (next && (next == end || *next == ',')) {
        store_number(c, number, out);
        return next;
      }
    }
    const auto cell = read_csv_cell(p, end, scratch_);
    if (!cell) throw CellError{p, cell_message("column", c, columns_[c].name, "a quote is not closed or is out of place")};
    if (is_missing(*cell)) {
      ++found_.missing[c];
      out[c] = std::numeric_limits<T>::quiet_NaN();
    } else if (nominal_[c]) {
      store_category(c, cell->quoted ? cell->text : bare(p, cell->next, end), out);
    } else {
      store_text(c, cell->text, out);
    }
    return cell->next;
  }

  // A text without quotes is what stands between the commas, blanks included: two classes that differ by a blank are two.
  static std::string_view bare(const char* p, const char* next, const char* end) {
    if (next == end && next != p && next[-1] == '\r') --next;
    return {p, static_cast<std::size_t>(next - p)};
  }

  // A cell of a numeric column that is quoted, has blanks around, or is no number after all. What usually means a missing cell makes
  // no column nominal: of a nominal one it stays a text, which a job may take for missing or not.
  void store_text(std::size_t c, std::string_view text, T* out) {
    if (engine::is_missing_text(text)) {
      ++found_.missing[c];
      out[c] = std::numeric_limits<T>::quiet_NaN();
      return;
    }
    const auto number = scan_number<T>(text.data(), text.data() + text.size());
    if (number.next == text.data() + text.size()) return store_number(c, number, out);
    plan_.nominal[c] = true;
  }

  void store_number(std::size_t c, const ScannedNumber<T>& number, T* out) {
    if (!number.exact) plan_.wide[c] = true;
    found_.missing[c] += number.value != number.value;
    out[c] = number.value;
  }

  void store_category(std::size_t c, std::string_view text, T* out) {
    Dictionary& codes = found_.codes[c];
    auto found = codes.find(text);
    if (found == codes.end()) found = codes.emplace(std::string(text), static_cast<std::int64_t>(codes.size())).first;
    out[c] = static_cast<T>(found->second);
  }

  const std::vector<ColumnInfo>& columns_;
  Plan& plan_;
  ChunkColumns found_;
  std::vector<char> nominal_;
  std::vector<std::size_t> numeric_run_;   // numeric columns from this one on, without the last of the table
  std::string scratch_;
};

// Sorts the categories of all chunks and replaces each chunk's codes by their places in the sorted list.
template <class T>
void merge_categories(std::size_t c, ColumnInfo& column, const std::vector<ChunkColumns>& found,
                      const std::vector<TextChunk>& chunks, std::int64_t n_rows, std::span<T> values, std::size_t width) {
  std::map<std::string_view, std::int64_t> sorted;
  for (const ChunkColumns& chunk : found)
    for (const auto& [name, code] : chunk.codes[c]) sorted.emplace(name, 0);
  engine::require(sorted.size() <= kMostCategories, schema::ErrorCode::kBadData, "column '{}' holds {} different texts, at most {}",
                  column.name, sorted.size(), kMostCategories);
  std::int64_t next = 0;
  for (auto& [name, code] : sorted) code = next++, column.categories.emplace_back(name);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::vector<T> place(found[i].codes[c].size());
    for (const auto& [name, code] : found[i].codes[c]) place[static_cast<std::size_t>(code)] = static_cast<T>(sorted.at(name));
    const std::int64_t rows_end = i + 1 < chunks.size() ? chunks[i + 1].first_row : n_rows;
    for (std::int64_t r = chunks[i].first_row; r < rows_end; ++r) {
      T& value = values[static_cast<std::size_t>(r) * width + c];
      if (value == value) value = place[static_cast<std::size_t>(value)];
    }
  }
}

class CsvParser {
 public:
  CsvParser(std::string_view text, const ParseRequest& request)
      : text_(text), request_(request), quoted_(text.find('"') != std::string_view::npos) {}

  DatasetMeta parse() {
    read_header();
    if (request_.describe) request_.describe(meta_);
    count_rows();
    Plan plan(meta_.columns.size());
    sample(plan);
    for (int restart = 0; restart <= kMostRestarts; ++restart) {
      apply(plan);
      if (auto meta = try_parse(plan)) return *meta;
    }
    throw schema::Error(schema::ErrorCode::kInternal, fmt::format("{}: its columns do not settle", request_.source));
  }

 private:
  void read_header() {
    const std::size_t begin = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    const char* p = text_.data() + begin;
    const char* const text_end = text_.data() + text_.size();
    const char* const end = record_end(p, text_end);
    try {
      read_names(p, end);
    } catch (const CellError& error) {
      throw corrupt_at(text_, request_.source, error.at, error.what);
    }
    const std::size_t body = static_cast<std::size_t>(end - text_.data()) + (end != text_end);
    chunks_ = cut_at_line_ends(text_.substr(body), kChunkBytes, quoted_);
    meta_.is_float32 = true;
    meta_.types_are_guessed = true;
    meta_.n_values_columns = static_cast<std::int64_t>(meta_.columns.size());
  }

  void read_names(const char* p, const char* end) {
    if (skip_blanks(p, end) == end) throw CellError{p, "the header line with the column names is missing"};
    std::unordered_set<std::string> names;
    std::string scratch;
    for (bool more = true; more;) {
      const auto cell = read_csv_cell(p, end, scratch);
      if (!cell) throw CellError{p, "a quote in the header line is not closed or is out of place"};
      ColumnInfo column{.name = std::string(cell->text), .values_column = static_cast<std::int64_t>(meta_.columns.size())};
      if (column.name.empty()) column.name = fmt::format("column_{}", meta_.columns.size() + 1);
      if (const std::string problem = name_problem(column.name, meta_.columns.size() + 1); !problem.empty()) throw CellError{p, problem};
      if (!names.insert(column.name).second) throw CellError{p, fmt::format("column '{}' is named twice", column.name)};
      meta_.columns.push_back(std::move(column));
      more = cell->next != end;
      p = cell->next + more;
    }
  }

  void count_rows() {
    std::vector<std::int64_t> rows(chunks_.size(), 0);
    for_each_chunk(chunks_, {request_.parallel.threads, {}, request_.parallel.stop}, text_, request_.source,
                   [&](std::size_t i) { for_each_record(chunks_[i], quoted_, [&](const char*, const char*) { ++rows[i]; }); });
    for (std::size_t i = 0; i < chunks_.size(); ++i) chunks_[i].first_row = std::exchange(meta_.n_rows, meta_.n_rows + rows[i]);
  }

  // Nothing when some column or the width of the values turned out to be another than assumed.
  std::optional<DatasetMeta> try_parse(Plan& plan) {
    DatasetFileWriter writer(request_.output, meta_);
    const bool done = meta_.is_float32 ? read_rows(writer.meta(), writer.values_f32(), plan)
                                       : read_rows(writer.meta(), writer.values_f64(), plan);
    if (!done) return std::nullopt;
    if (request_.complete) request_.complete(writer.meta());
    writer.finish();
    return writer.meta();
  }

  template <class T>
  bool read_rows(DatasetMeta& meta, std::span<T> values, Plan& plan) {
    const std::size_t width = meta.columns.size();
    std::vector<ChunkColumns> found(chunks_.size());
    for_each_chunk(chunks_, request_.parallel, text_, request_.source, [&](std::size_t i) {
      RecordReader<T> reader(meta.columns, plan);
      T* out = values.data() + static_cast<std::size_t>(chunks_[i].first_row) * width;
      for_each_record(chunks_[i], quoted_, [&](const char* p, const char* end) {
        reader.read(p, end, chunks_[i].end, out);
        out += width;
      });
      found[i] = reader.take();
    });
    if (differs(plan)) return false;
    for (std::size_t c = 0; c < width; ++c) {
      for (const ChunkColumns& chunk : found) meta.columns[c].missing += chunk.missing[c];
      if (meta.columns[c].type == ColumnInfo::Type::kNominal)
        merge_categories(c, meta.columns[c], found, chunks_, meta.n_rows, values, width);
    }
    return true;
  }

  // A look at the first rows usually shows the types of the columns, and saves a pass. Errors are left to the real
  // pass.
  void sample(Plan& plan) {
    if (chunks_.empty()) return;
    const auto size = std::min<std::size_t>(kSampleBytes, static_cast<std::size_t>(chunks_[0].end - chunks_[0].begin));
    const TextChunk first = cut_at_line_ends({chunks_[0].begin, size}, kSampleBytes, quoted_).front();
    RecordReader<float> reader(meta_.columns, plan);
    std::vector<float> row(meta_.columns.size());
    try {
      for_each_record(first, quoted_, [&](const char* p, const char* end) {
        if (end != first.end) reader.read(p, end, first.end, row.data());   // the last one may be cut off
      });
    } catch (const CellError&) {
      return;
    }
  }

  bool differs(const Plan& plan) const {
    for (std::size_t c = 0; c < meta_.columns.size(); ++c) {
      if (meta_.columns[c].type == ColumnInfo::Type::kNominal) continue;
      if (plan.nominal[c] || (meta_.is_float32 && plan.wide[c])) return true;
    }
    return false;
  }

  void apply(const Plan& plan) {
    for (std::size_t c = 0; c < meta_.columns.size(); ++c)
      if (plan.nominal[c]) meta_.columns[c].type = ColumnInfo::Type::kNominal;
      else if (plan.wide[c]) meta_.is_float32 = false;
  }

  const std::string_view text_;
  const ParseRequest& request_;
  const bool quoted_;
  DatasetMeta meta_;
  std::vector<TextChunk> chunks_;
};

}  // namespace

DatasetMeta parse_csv(std::string_view text, const ParseRequest& request) { return CsvParser(text, request).parse(); }

}  // namespace kedge::server
