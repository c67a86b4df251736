// What token_pattern finds in a text: the usual pattern by hand, others by RE2, whose time is linear in the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <re2/re2.h>

namespace kedge::engine::text {

inline constexpr const char* kUsualPattern = "(?u)\\b\\w\\w+\\b";

// A value; copies share the compiled pattern. Thread safe.
class TokenPattern {
 public:
  // Python's regular expressions as far as RE2 has them, with \w, \d and \s of Unicode, and \b at both ends, or the
  // front, of what matches word characters alone. Errors: kInvalidValue at params.token_pattern, saying which part is
  // not supported.
  TokenPattern(std::string_view owner, const std::string& pattern);

  // Calls found(token) for each one, from left to right; the views point into `text`.
  template <class Found>
  void each(std::string_view text, const Found& found) const {
    if (kind_ == Kind::kUsual) return each_usual(text, found);
    if (kind_ == Kind::kAnywhere) return each_match(text, found);
    each_run(text, [&](std::string_view run) { in_run(run, found); });
  }
  bool is_usual() const { return kind_ == Kind::kUsual; }

 private:
  // kWholeRuns: \bX\b where X has word characters alone, which is a run of them that matches as a whole; kRunStarts:
  // \bX.
  enum class Kind { kUsual, kAnywhere, kWholeRuns, kRunStarts };

  // The longest runs of word characters.
  template <class Found>
  static void each_run(std::string_view text, const Found& found);
  template <class Found>
  static void each_usual(std::string_view text, const Found& found);
  template <class Found>
  void each_match(std::string_view text, const Found& found) const;
  template <class Found>
  void in_run(std::string_view run, const Found& found) const;

  Kind kind_ = Kind::kUsual;
  std::shared_ptr<const RE2> pattern_;   // with one group: the token
};

// Where the run of word characters that begins at or behind p begins and ends; begin == end: there is none.
struct Run {
  const char *begin, *end;
  bool has_two;   // characters at least
};
Run next_run(const char* p, const char* end);

template <class Found>
void TokenPattern::each_run(std::string_view text, const Found& found) {
  const char* const end = text.data() + text.size();
  for (Run run = next_run(text.data(), end); run.begin != run.end; run = next_run(run.end, end))
    found(std::string_view(run.begin, static_cast<std::size_t>(run.end - run.begin)));
}

template <class Found>
void TokenPattern::each_usual(std::string_view text, const Found& found) {
  const char* const end = text.data() + text.size();
  for (Run run = next_run(text.data(), end); run.begin != run.end; run = next_run(run.end, end))
    if (run.has_two) found(std::string_view(run.begin, static_cast<std::size_t>(run.end - run.begin)));
}

template <class Found>
void TokenPattern::each_match(std::string_view text, const Found& found) const {
  re2::StringPiece whole, token;
  const re2::StringPiece all(text.data(), text.size());
  std::size_t at = 0;
  re2::StringPiece groups[2];
  while (at <= text.size() && pattern_->Match(all, at, text.size(), RE2::UNANCHORED, groups, 2)) {
    found(std::string_view(groups[1].data(), groups[1].size()));
    at = static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();   // no match is empty
  }
}

template <class Found>
void TokenPattern::in_run(std::string_view run, const Found& found) const {
  const auto anchor = kind_ == Kind::kWholeRuns ? RE2::ANCHOR_BOTH : RE2::ANCHOR_START;
  re2::StringPiece groups[2];
  if (pattern_->Match(re2::StringPiece(run.data(), run.size()), 0, run.size(), anchor, groups, 2))
    found(std::string_view(groups[1].data(), groups[1].size()));
}

}   // namespace kedge::engine::text
