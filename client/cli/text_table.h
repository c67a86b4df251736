// Tables that fit the page and never run columns together.
#pragma once

#include <string>
#include <vector>

#include "client/cli/terminal.h"

namespace kedge::cli {

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  // What a column does where the page is too narrow: keep its width, cut its cells, or break them over several lines.
  enum class Fit { kKeep, kCut, kWrap };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    Fit fit = Fit::kKeep;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells);   // one for each column

  // Title line and rows, each with its line end. Two spaces at least between columns. Columns that may give way do so first; what is too
  // wide even then comes in several blocks, each of which repeats the first column.
  std::string text(const Page& page = {}) const;

 private:
  std::vector<int> natural_widths() const;
  std::string block(const std::vector<std::size_t>& members, const std::vector<int>& widths, bool has_colour) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& members, const std::vector<int>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kedge::cli
