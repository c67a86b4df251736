// What is known of a terminal: its width, whether it takes colours, and how many columns a text needs on it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kedge::cli {

// How text on one output is laid out. The default is that of a file or a pipe: no bound on the width, no colours, nothing redrawn.
struct Page {
  int columns = 0;           // 0: no bound
  bool has_colour = false;
  bool is_live = false;      // lines can be drawn again in place
};

// Of a file descriptor, as it is now. Columns: COLUMNS where it is a number from 20 to 10,000, otherwise what the
// terminal says, otherwise 80. TERM=dumb (or no TERM) is not live and has no colour; NO_COLOR, set to anything but
// nothing, leaves out colours alone.
Page page_of(int fd);

// Columns that UTF-8 text takes: two for wide characters (East Asian, emoji), none for combining ones. Bytes that are not UTF-8 count one each.
int display_width(std::string_view text);

// The text on one line, with every control character (and so every escape sequence) and every byte that is not UTF-8 replaced.
std::string printable(std::string_view text);

// The longest beginning that fits; a text that was cut ends in "…". columns at least 1.
std::string cut(std::string_view text, int columns);

// Lines of at most `columns` columns, broken between words where that is possible; all but the first begin with `indent` spaces.
// columns 0: one line.
std::vector<std::string> wrapped(std::string_view text, int columns, int indent = 0);

enum class Style { kPlain, kBold, kDim, kGood, kWarning, kBad };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};
using Line = std::vector<Span>;
inline Line line_of(std::string text, Style style = Style::kPlain) { return Line(1, Span{std::move(text), style}); }

int display_width(const Line& line);
Line cut(const Line& line, int columns);
std::string rendered(const Line& line, bool has_colour);
std::string styled(std::string_view text, Style style, bool has_colour);

}  // namespace kedge::cli
