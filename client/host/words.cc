// Quotes and backslashes.
#include "client/host/words.h"

#include <fmt/core.h>

#include <optional>

#include "schemas/error.h"

namespace kedge::host {
namespace {

using schema::Error;
using schema::ErrorCode;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<std::string> words() {
    for (; at_ < text_.size(); ++at_) step(text_[at_]);
    if (quote_ != 0) throw Error(ErrorCode::kInvalidValue, fmt::format("the command has an open quote: {}", text_));
    end_word();
    return std::move(words_);
  }

 private:
  void step(char c) {
    if (quote_ == '\'') {
      if (c == '\'') quote_ = 0;
      else *word_ += c;
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      escape(text_[++at_]);
    } else if (c == '"' || (c == '\'' && quote_ == 0)) {
      quote_ = quote_ == c ? 0 : c;
      if (!word_) word_.emplace();
    } else if (quote_ == 0 && (c == ' ' || c == '\t')) {
      end_word();
    } else {
      add(c);
    }
  }
  // Within double quotes a backslash is one, unless what follows would mean something there.
  void escape(char c) {
    if (!word_) word_.emplace();
    if (quote_ == '"' && c != '"' && c != '\\' && c != '$' && c != '`') *word_ += '\\';
    *word_ += c;
  }
  void add(char c) {
    constexpr std::string_view kAlways = "$`", kOutside = ";&|<>()\n";
    if (kAlways.find(c) != std::string_view::npos || (quote_ == 0 && kOutside.find(c) != std::string_view::npos))
      throw Error(ErrorCode::kInvalidValue,
                  fmt::format("the command needs a shell for '{}', and kedge host-exec runs none: {}", c, text_));
    if (!word_) word_.emplace();
    *word_ += c;
  }
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  char quote_ = 0;                    // the open one
  std::optional<std::string> word_;   // the one that has begun
  std::vector<std::string> words_;
};

}   // namespace

std::vector<std::string> shell_words(std::string_view text) {
  return Reader(text).words();
}

}   // namespace kedge::host
