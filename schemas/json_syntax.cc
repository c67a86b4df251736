// A plain JSON grammar, run only over texts that are known to be wrong.
#include "schemas/json_syntax.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "schemas/error.h"
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

// Stops at the first fault: each parse function returns false once `fault_` is set, with `at_` on the faulty
// byte.
class SyntaxScan {
 public:
  explicit SyntaxScan(std::string_view text) : text_(text) {}

  std::optional<std::string> fault() {
    if (value(1)) {
      skip_space();
      if (at_ < text_.size()) wrong("more text after the end of the document");
    }
    return fault_;
  }

  // 1-based line and column (in bytes) of the fault.
  std::string position() const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto column = at_ - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
  }

 private:
  bool wrong(std::string what) {
    fault_ = at_ < text_.size() ? std::move(what) : "the text ends too early";
    return false;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool eat(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  bool value(int depth) {
    skip_space();
    switch (peek()) {
      case '{':
        return container('}', depth);
      case '[':
        return container(']', depth);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool container(char close, int depth) {
    if (depth > kMaxJsonDepth) return wrong("nests deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    ++at_;
    skip_space();
    if (eat(close)) return true;
    do {
      if (close == '}' && !key()) return false;
      if (!value(depth + 1)) return false;
      skip_space();
    } while (eat(','));
    return eat(close) || wrong(close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  }

  bool key() {
    skip_space();
    if (peek() != '"') return wrong("expected a key in double quotes");
    if (!string()) return false;
    skip_space();
    return eat(':') || wrong("expected ':'");
  }

  bool string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return wrong("control character in a string");
      if (text_[at_] == '\\' && !escape()) return false;
      ++at_;
    }
    return eat('"') || wrong("");
  }

  // Leaves at_ on the last byte of the escape. Surrogate pairs are not looked at.
  bool escape() {
    if (++at_ >= text_.size()) return wrong("");
    if (text_[at_] != 'u')
      return std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos ||
             wrong("unknown escape in a string");
    for (int digit = 0; digit < 4; ++digit)
      if (++at_ >= text_.size() || !std::isxdigit(static_cast<unsigned char>(text_[at_])))
        return wrong("expected four hexadecimal digits after \\u");
    return true;
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return wrong("expected a value");
    at_ += expected.size();
    return true;
  }

  bool digits() {
    if (!std::isdigit(static_cast<unsigned char>(peek()))) return wrong("expected a digit");
    while (std::isdigit(static_cast<unsigned char>(peek()))) ++at_;
    return true;
  }

  bool number() {
    const std::size_t start = at_;
    if (!eat('-') && !std::isdigit(static_cast<unsigned char>(peek()))) return wrong("expected a value");
    if (!eat('0') && !digits()) return false;
    if (std::isdigit(static_cast<unsigned char>(peek()))) return wrong("a number must not start with 0");
    bool integer = true;
    if (eat('.')) {
      integer = false;
      if (!digits()) return false;
    }
    if (eat('e') || eat('E')) {
      integer = false;
      if (!eat('-')) eat('+');
      if (!digits()) return false;
    }
    return fits(start, integer);
  }

  bool fits(std::size_t start, bool integer) {
    const std::string number(text_.substr(start, at_ - start));
    errno = 0;
    if (integer && number[0] == '-')
      std::strtoll(number.c_str(), nullptr, 10);
    else if (integer)
      std::strtoull(number.c_str(), nullptr, 10);
    if (errno == 0 && std::isfinite(std::strtod(number.c_str(), nullptr))) return true;
    at_ = start;
    return wrong(integer ? "integer beyond 64 bits" : "number too large");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> fault_;
};

}  // namespace

void throw_syntax_error(std::string_view text, std::string_view otherwise) {
  const bool is_text = is_utf8(text);
  SyntaxScan scan(text);
  const auto fault = is_text ? scan.fault() : std::nullopt;
  if (fault) throw Error{ErrorCode::kMalformed, "JSON: " + scan.position() + ": " + *fault};
  throw Error{ErrorCode::kMalformed,
              "JSON: " + (is_text ? std::string(otherwise) : "the text is not valid UTF-8")};
}

}  // namespace kedge::schema
