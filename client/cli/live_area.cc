// Moves the cursor up over what was drawn, and writes anew.
#include "client/cli/live_area.h"

#include <fmt/core.h>

#include <algorithm>

namespace kedge::cli {

std::string LiveArea::clear(const Page& page) {
  if (widths_.empty()) return {};
  int rows = 0;
  for (const int width : widths_) rows += page.columns > 0 ? std::max(1, (width + page.columns - 1) / page.columns) : 1;
  widths_.clear();
  return rows > 1 ? fmt::format("\r\033[{}A\033[J", rows - 1) : "\r\033[J";
}

std::string LiveArea::draw(const Page& page, const std::vector<Line>& lines) {
  std::string text = clear(page);
  for (const Line& line : lines) {
    const Line fitting = cut(line, page.columns - 1);
    if (!widths_.empty()) text += '\n';
    text += rendered(fitting, page.has_colour);
    widths_.push_back(display_width(fitting));
  }
  return text;
}

std::string LiveArea::print(const Page& page, const Line& line, int indent) { return clear(page) + paragraph(page, line, indent); }

std::string paragraph(const Page& page, const Line& line, int indent) {
  if (page.columns == 0 || display_width(line) <= page.columns) return rendered(line, page.has_colour) + '\n';
  std::string text;
  for (const std::string& part : wrapped(rendered(line, false), page.columns, indent))
    text += styled(part, line.front().style, page.has_colour) + '\n';
  return text;
}

}  // namespace kedge::cli
