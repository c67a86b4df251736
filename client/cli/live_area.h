// A few lines at the end of a terminal that are drawn again and again in place, with lines that stay above them.
#pragma once

#include <string>
#include <vector>

#include "client/cli/terminal.h"

namespace kedge::cli {

// What is to be written, as text: no terminal is touched here. Not thread safe.
class LiveArea {
 public:
  // Draws the lines over those of before, each cut to one column less than the page, so that no terminal wraps it. The
  // page may have another width than before: the old lines then take as many rows as the terminal has wrapped them to.
  std::string draw(const Page& page, const std::vector<Line>& lines);
  // Puts text that stays in the place of the lines; draw() puts them below it.
  std::string print(const Page& page, const Line& line, int indent = 0);
  std::string clear(const Page& page);   // removes the lines

 private:
  std::vector<int> widths_;   // of the lines that are drawn now
};

// A line that stays, with its breaks where the page needs them. The style of the first span is that of the whole where it has to break.
std::string paragraph(const Page& page, const Line& line, int indent = 0);

}  // namespace kedge::cli
