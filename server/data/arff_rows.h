// One row of ARFF data, dense or sparse, to numbers.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core/dataset_file.h"
#include "server/data/cell.h"
#include "server/data/number.h"
#include "server/data/parse.h"

namespace kedge::server {

inline constexpr char kNoCloser = '\n';   // dense cells end at commas and at the line's end

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

inline bool is_row(const char* line, const char* end) {
  line = skip_blanks(line, end);
  return line != end && *line != '%';
}

// Reads rows and counts missing cells. Borrows columns and codes.
template <class T>
class RowReader {
 public:
  RowReader(const std::vector<engine::ColumnInfo>& columns, const std::vector<CategoryCodes>& codes,
            std::int64_t n_values_columns)
      : columns_(columns),
        codes_(codes),
        n_values_columns_(n_values_columns),
        missing_(columns.size(), 0),
        neighbours_(columns.size()) {
    count_neighbours();
  }

  const std::vector<std::int64_t>& missing() const { return missing_; }

  // Fills out[0, n_values_columns). Errors: CellError; NeedsFloat64.
  void read(const char* p, const char* end, T* out) {
    p = skip_blanks(p, end);
    named_.clear();
    if (*p != '{') return read_dense(p, end, out);
    std::fill_n(out, n_values_columns_, T(0));
    read_sparse(p + 1, end, out);
  }
  // The same into an `out` of zeros: calls cell(values column, value) for what the row names, and leaves zeros behind.
  template <class Cell>
  void read_entries(const char* p, const char* end, T* out, const Cell& cell) {
    p = skip_blanks(p, end);
    named_.clear();
    if (*p == '{') {
      read_sparse(p + 1, end, out);
    } else {
      read_dense(p, end, out);
      for (std::size_t c = 0; c < columns_.size(); ++c) named_.push_back(c);
    }
    for (const std::size_t c : named_) {
      if (columns_[c].values_column < 0) continue;
      T& value = out[columns_[c].values_column];
      cell(columns_[c].values_column, value);
      value = T(0);
    }
  }

 private:
  static constexpr std::size_t kWorthwhile = 8;   // cells that are read together

  void read_dense(const char* p, const char* end, T* out) {
    const std::size_t n = columns_.size();
    for (std::size_t c = 0; c < n; ++c) {
      if (neighbours_[c] >= kWorthwhile) {
        const ScannedRun run = scan_short_integers(p, end, out + columns_[c].values_column, neighbours_[c]);
        c += run.n, p = run.next;
      }
      const char* const next = read_cell(c, p, end, kNoCloser, out);
      const bool last = c + 1 == n;
      if (next == end && !last) throw CellError{p, fmt::format("{} values, but {} attributes are declared", c + 1, n)};
      if (next != end && last) throw CellError{next, fmt::format("more than the {} values of the declared attributes", n)};
      p = next + 1;
    }
  }

  // How many numbers from this column on are adjacent in the row, without its last column, because no comma follows it.
  void count_neighbours() {
    for (std::size_t next = columns_.size(); next-- > 1;) {
      const engine::ColumnInfo& column = columns_[next - 1];
      if (column.type != engine::ColumnInfo::Type::kNumeric || column.values_column < 0) continue;
      neighbours_[next - 1] = columns_[next].values_column == column.values_column + 1 ? neighbours_[next] + 1 : 1;
    }
  }

  // Cells that a sparse row leaves out are 0: the number, or the first category.
  void read_sparse(const char* p, const char* end, T* out) {
    std::int64_t previous = -1;
    p = skip_blanks(p, end);
    while (p != end && *p != '}') {
      const auto index = scan_number<double>(p, end);
      const bool valid =
          index.next && index.next != end && is_blank(*index.next) && index.value >= 0 && index.value == std::floor(index.value);
      if (!valid) throw CellError{p, "a sparse value has no attribute index in front"};
      if (index.value >= static_cast<double>(columns_.size()))
        throw CellError{p, fmt::format("sparse index {}, but only {} attributes are declared",
                                       std::string_view(p, index.next - p), columns_.size())};
      const auto column = static_cast<std::int64_t>(index.value);
      if (column <= previous) throw CellError{p, fmt::format("sparse index {} is not above the one before", column)};
      previous = column;
      named_.push_back(static_cast<std::size_t>(column));
      p = read_cell(static_cast<std::size_t>(column), index.next, end, '}', out);
      if (p != end && *p == ',') p = skip_blanks(p + 1, end);
    }
    if (p == end) throw CellError{end, "a sparse row lacks its closing brace"};
    if (skip_blanks(p + 1, end) != end) throw CellError{p, "text behind the closing brace of a sparse row"};
  }

  // Returns the separator behind the cell, or the end.
  const char* read_cell(std::size_t c, const char* p, const char* end, char closer, T* out) {
    const engine::ColumnInfo& column = columns_[c];
    if (column.type == engine::ColumnInfo::Type::kNumeric) {
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
    const engine::ColumnInfo& column = columns_[c];
    const auto cell = read_arff_cell(p, end, closer, scratch_);
    if (!cell) fail(c, p, "a quoted value does not end, or is followed by more text");
    if (!cell->quoted && (cell->text.empty() || cell->text == "?")) {
      ++missing_[c];
      if (column.values_column >= 0) out[column.values_column] = std::numeric_limits<T>::quiet_NaN();
    } else if (column.type == engine::ColumnInfo::Type::kNominal) {
      const std::int64_t code = codes_[c].find(cell->text);
      if (code < 0) fail(c, p, fmt::format("'{}' is not one of its declared categories", cell->text.substr(0, 60)));
      out[column.values_column] = static_cast<T>(code);
    } else if (column.type == engine::ColumnInfo::Type::kNumeric) {
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

  const std::vector<engine::ColumnInfo>& columns_;
  const std::vector<CategoryCodes>& codes_;
  const std::int64_t n_values_columns_;
  std::vector<std::int64_t> missing_;
  std::vector<std::size_t> neighbours_;
  std::vector<std::size_t> named_;   // by the last sparse row
  std::string scratch_;
};

}   // namespace kedge::server
