// Lays out tables.
#include "client/cli/text_table.h"

#include <algorithm>
#include <numeric>

namespace kedge::cli {
namespace {

constexpr int kGap = 2, kLeastFlexible = 12;

int sum_of(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 0) + kGap * (static_cast<int>(widths.size()) - 1);
}

// Takes one column after the other from the widest of those that give way, until the table fits or none can give more.
void shrink(std::vector<int>& widths, const std::vector<TextTable::Column>& columns, int page) {
  for (int excess = sum_of(widths) - page; excess > 0; --excess) {
    int* widest = nullptr;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const int least = std::max(kLeastFlexible, display_width(columns[j].title));
      if (columns[j].fit == TextTable::Fit::kKeep || widths[j] <= least) continue;
      if (!widest || widths[j] > *widest) widest = &widths[j];
    }
    if (!widest) return;
    --*widest;
  }
}

std::string spaces(int n) { return std::string(static_cast<std::size_t>(std::max(n, 0)), ' '); }

}  // namespace

void TextTable::row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<int> TextTable::natural_widths() const {
  std::vector<int> widths;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    widths.push_back(display_width(columns_[j].title));
    for (const auto& cells : rows_) widths[j] = std::max(widths[j], display_width(cells[j]));
  }
  return widths;
}

std::string TextTable::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& members,
                            const std::vector<int>& widths) const {
  std::vector<std::vector<std::string>> parts;   // by column, what of it stands in each line
  std::size_t height = 1;
  for (const std::size_t j : members) {
    parts.push_back(columns_[j].fit == Fit::kWrap ? wrapped(cells[j], widths[j]) : std::vector{cut(cells[j], std::max(1, widths[j]))});
    height = std::max(height, parts.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string one;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::string cell = i < parts[m].size() ? parts[m][i] : std::string();
      const std::string room = spaces(widths[members[m]] - display_width(cell));
      one += (m ? spaces(kGap) : "") + (columns_[members[m]].align == Align::kRight ? room + cell : cell + room);
    }
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + '\n';
  }
  return text;
}

std::string TextTable::block(const std::vector<std::size_t>& members, const std::vector<int>& widths, bool has_colour) const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = line(titles, members, widths);
  if (has_colour) text = styled(text.substr(0, text.size() - 1), Style::kBold, true) + '\n';
  for (const auto& cells : rows_) text += line(cells, members, widths);
  return text;
}

std::string TextTable::text(const Page& page) const {
  std::vector<int> widths = natural_widths();
  const int natural = widths.front();
  if (page.columns > 0) shrink(widths, columns_, page.columns);
  if (page.columns > 0 &&
      sum_of(widths) > page.columns)   // several blocks: the first column is repeated, next to the widest
    widths.front() = std::clamp(page.columns - kGap - *std::max_element(widths.begin() + 1, widths.end()), widths.front(), natural);
  std::string text;
  for (std::size_t next = 1; next <= columns_.size();) {
    std::vector<std::size_t> members{0};
    int used = widths[0];
    while (next < columns_.size() && (members.size() == 1 || page.columns == 0 || used + kGap + widths[next] <= page.columns)) {
      used += kGap + widths[next];
      members.push_back(next++);
    }
    text += (text.empty() ? "" : "\n") + block(members, widths, page.has_colour);
    if (next == columns_.size()) break;
  }
  return text;
}

}  // namespace kedge::cli
