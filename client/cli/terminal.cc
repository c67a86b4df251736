// Asks the system about terminals, and the C library about characters.
#include "client/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <optional>

namespace kedge::cli {
namespace {

constexpr int kUsualColumns = 80;
constexpr std::string_view kEllipsis = "…";

// The C library knows the width of every character of Unicode, in a locale of UTF-8. The user's own may be another one.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(locale_ ? uselocale(locale_) : nullptr) {}
  ~Utf8Locale() {
    if (!locale_) return;
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;

 private:
  locale_t locale_, before_;
};

struct Character {
  std::string_view bytes;
  int columns;
  bool is_printable;   // no control character, and UTF-8
};

std::vector<Character> characters_of(std::string_view text) {
  std::optional<Utf8Locale> locale;   // made for the first character that needs it: that takes longer than all of the others
  std::vector<Character> characters;
  std::mbstate_t state{};
  while (!text.empty()) {
    if (text[0] >= ' ' && text[0] <= '~') {
      characters.push_back({text.substr(0, 1), 1, true});
      text.remove_prefix(1);
      continue;
    }
    if (!locale) locale.emplace();
    wchar_t code = 0;
    std::size_t n = std::mbrtowc(&code, text.data(), text.size(), &state);
    const bool is_broken = n > text.size();   // (size_t)-1 and -2
    if (is_broken) state = {};
    if (is_broken || n == 0) n = 1;           // 0: a NUL
    const int columns = is_broken ? 1 : wcwidth(code);
    characters.push_back({text.substr(0, n), std::max(columns, 0), !is_broken && columns >= 0 && code != 0});
    text.remove_prefix(n);
  }
  return characters;
}

// The end of the longest beginning of `text` that takes at most `columns`.
std::size_t end_within(std::string_view text, int columns) {
  std::size_t end = 0;
  for (const Character& c : characters_of(text)) {
    if ((columns -= c.columns) < 0) break;
    end += c.bytes.size();
  }
  return end;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

int columns_of(int fd) {
  constexpr int kLeast = 20, kMost = 10'000;   // what is less cannot hold a line of ours
  if (const char* text = std::getenv("COLUMNS")) {
    int columns = 0;
    const char* end = text + std::string_view(text).size();
    if (std::from_chars(text, end, columns).ptr == end && columns >= kLeast && columns <= kMost) return columns;
  }
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? std::max<int>(size.ws_col, kLeast) : kUsualColumns;
}

const char* code_of(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kBold: return "\033[1m";
    case Style::kDim: return "\033[2m";
    case Style::kGood: return "\033[32m";
    case Style::kWarning: return "\033[33m";
    case Style::kBad: return "\033[31m";
  }
  return "";
}

}  // namespace

Page page_of(int fd) {
  if (isatty(fd) != 1) return {};
  const char* term = std::getenv("TERM");
  const bool is_live = term && *term && std::string_view(term) != "dumb";
  return {.columns = columns_of(fd), .has_colour = is_live && !is_set("NO_COLOR"), .is_live = is_live};
}

int display_width(std::string_view text) {
  int columns = 0;
  for (const Character& c : characters_of(text)) columns += c.columns;
  return columns;
}

std::string printable(std::string_view text) {
  std::string result;
  for (const Character& c : characters_of(text)) {
    if (c.is_printable) result += c.bytes;
    else result += c.bytes == "\n" || c.bytes == "\t" ? " " : "?";
  }
  return result;
}

std::string cut(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  return std::string(text.substr(0, end_within(text, columns - 1))) + std::string(kEllipsis);
}

std::vector<std::string> wrapped(std::string_view text, int columns, int indent) {
  constexpr int kLeast = 8;   // columns for text, for any indent
  std::vector<std::string> lines;
  std::string margin;
  while (columns > 0 && display_width(text) > columns - display_width(margin)) {
    const std::size_t limit = end_within(text, std::max(kLeast, columns - display_width(margin)));
    if (limit == text.size()) break;
    const std::size_t space = text.rfind(' ', limit);
    const bool has_word = space != std::string_view::npos && space > limit / 3;
    const std::size_t end = has_word ? space : std::max<std::size_t>(limit, 1);
    lines.push_back(margin + std::string(text.substr(0, end)));
    text.remove_prefix(has_word ? end + 1 : end);
    margin.assign(static_cast<std::size_t>(std::min(indent, std::max(0, columns - kLeast))), ' ');
  }
  lines.push_back(margin + std::string(text));
  return lines;
}

int display_width(const Line& line) {
  int columns = 0;
  for (const Span& span : line) columns += display_width(span.text);
  return columns;
}

Line cut(const Line& line, int columns) {
  if (display_width(line) <= columns) return line;
  Line result;
  for (const Span& span : line) {
    const int width = display_width(span.text);
    if (width < columns) {
      result.push_back(span);
      columns -= width;
      continue;
    }
    result.push_back({std::string(span.text.substr(0, end_within(span.text, columns - 1))) + std::string(kEllipsis), span.style});
    break;
  }
  return result;
}

std::string styled(std::string_view text, Style style, bool has_colour) {
  const bool is_plain = !has_colour || style == Style::kPlain;
  return is_plain ? std::string(text) : code_of(style) + std::string(text) + "\033[0m";
}

std::string rendered(const Line& line, bool has_colour) {
  std::string text;
  for (const Span& span : line) text += styled(span.text, span.style, has_colour);
  return text;
}

}  // namespace kedge::cli
