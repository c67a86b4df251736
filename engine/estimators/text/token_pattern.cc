// Translates a pattern of Python's to RE2, or says what cannot be.
#include "engine/estimators/text/token_pattern.h"

#include <array>
#include <optional>

#include "engine/core/params.h"
#include "engine/estimators/text/unicode.h"

namespace kedge::engine::text {
namespace {

constexpr std::size_t kLongest = 1000;                           // characters of a pattern
constexpr std::int64_t kPatternMemory = std::int64_t{4} << 20;   // of the compiled pattern and its cache

struct Refused {
  std::string problem;
};

// Within brackets, and alone. \s has what Python calls white space and RE2 does not.
constexpr const char* kWord = "\\p{L}\\p{N}_";
constexpr const char* kDigit = "\\p{Nd}";
constexpr const char* kSpace = "\\t-\\r\\x1c-\\x20\\x{85}\\p{Z}";

std::optional<std::string> members_of(char escape) {
  switch (escape) {
    case 'w':
      return kWord;
    case 'd':
      return kDigit;
    case 's':
      return kSpace;
    default:
      return std::nullopt;
  }
}

// Walks along a pattern once and writes it as RE2 understands it.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : rest_(pattern) {
    if (rest_.starts_with("(?u)")) rest_.remove_prefix(4);
    starts_at_bound = take("\\b");
    if (rest_.ends_with("\\b") && !rest_.ends_with("\\\\b")) ends_at_bound = true, rest_.remove_suffix(2);
    while (!rest_.empty()) next();
  }
  bool starts_at_bound = false, ends_at_bound = false;
  bool has_words_alone = true;   // every character that it can match is a word character
  std::string out;

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  char take_one() {
    if (rest_.empty()) throw Refused{"it breaks off"};
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void next() {
    const char c = take_one();
    if (c == '\\') return escape();
    if (c == '[') return set();
    if (c == '$') throw Refused{"'$' is not supported"};
    if (c == '{') return repeat();
    out += c;
    depth_ += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '|' && depth_ == 0) has_words_alone = false;   // a bound belongs to one side
    constexpr std::string_view kSyntax = "()|*+?";
    if (c == '(' && take("?:")) out += "?:";
    else if (c == '(' && rest_.starts_with("?")) has_words_alone = false;   // flags, or what RE2 refuses
    else if (kSyntax.find(c) == std::string_view::npos && !is_plain(c)) has_words_alone = false;
  }

  // Bytes of a letter beyond ASCII come one by one: such patterns have no \b.
  static bool is_plain(char c) { return static_cast<signed char>(c) >= 0 && is_word(c); }

  void repeat() {
    out += '{';
    while (!rest_.empty() && rest_.front() != '}') out += take_one();
  }

  void escape() {
    const char c = take_one();
    if (c == 'b' || c == 'B')
      throw Refused{"a bound \\" + std::string(1, c) + " is supported at the begin and the end alone"};
    if (const auto members = members_of(c)) {
      has_words_alone = has_words_alone && c != 's';
      out += "[" + *members + "]";
      return;
    }
    has_words_alone = false;
    if (const auto members = members_of(static_cast<char>(c | 0x20)); members && c < 'a') out += "[^" + *members + "]";
    else out += {'\\', c};
  }

  void set() {
    const bool is_negated = take("^");
    std::string members;
    bool removes_others = false;   // [^\W...]
    bool is_first = true;
    for (char c = take_one(); c != ']' || is_first; c = take_one(), is_first = false) {
      if (c != '\\') {
        if (!is_plain(c) && c != '-') has_words_alone = false;
        if (c == '-' && (is_first || rest_.starts_with("]"))) has_words_alone = false;   // the hyphen itself
        if (c == '[' || c == '&' || c == '~') members += '\\';
        members += c;
        continue;
      }
      const char escaped = take_one();
      if (const auto known = members_of(escaped)) {
        has_words_alone = has_words_alone && escaped != 's';
        members += *known;
      } else if (escaped == 'W' && is_negated) {
        removes_others = true;
      } else if (escaped == 'W' || escaped == 'D' || escaped == 'S') {
        throw Refused{"\\" + std::string(1, escaped) + " within brackets is not supported"};
      } else {
        has_words_alone = false;
        members += {'\\', escaped};
      }
    }
    if (removes_others) return word_less(members);
    if (is_negated) has_words_alone = false;
    out += is_negated ? "[^" + members + "]" : "[" + members + "]";
  }

  // [^\W...]: word characters without some. RE2 has no difference of sets, so that only the usual ones are there.
  void word_less(const std::string& members) {
    const std::string digit = kDigit;
    if (members == digit + "_" || members == "_" + digit) out += "[\\p{L}\\p{Nl}\\p{No}]";
    else if (members == digit) out += "[\\p{L}\\p{Nl}\\p{No}_]";
    else if (members == "_") out += "[\\p{L}\\p{N}]";
    else throw Refused{"[^\\W...] is supported with \\d and _ alone"};
  }

  std::string_view rest_;
  int depth_ = 0;   // of groups
};

std::shared_ptr<const RE2> compiled(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  const auto plain = std::make_shared<const RE2>(pattern, options);
  if (!plain->ok()) {
    const std::string& part = plain->error_arg();
    const bool is_lookaround = part.starts_with("(?=") || part.starts_with("(?!") || part.starts_with("(?<");
    throw Refused{is_lookaround ? "'" + part + "' is not supported: no lookahead and no lookbehind" : plain->error()};
  }
  if (plain->NumberOfCapturingGroups() > 1) throw Refused{"it has more than one capturing group"};
  if (RE2::FullMatch("", *plain)) throw Refused{"it matches the empty text"};
  return plain->NumberOfCapturingGroups() == 1 ? plain : std::make_shared<const RE2>("(" + pattern + ")", options);
}

const std::array<char, 256>& word_bytes() {
  static const std::array<char, 256> table = [] {
    std::array<char, 256> made{};
    for (int c = 0; c < 128; ++c) made[static_cast<std::size_t>(c)] = is_word(c);
    return made;
  }();
  return table;
}

}   // namespace

TokenPattern::TokenPattern(std::string_view owner, const std::string& pattern) {
  if (pattern == kUsualPattern) return;
  try {
    if (pattern.size() > kLongest) throw Refused{"it has more than 1000 characters"};
    const Translation made(pattern);
    kind_ = made.ends_at_bound ? Kind::kWholeRuns : made.starts_at_bound ? Kind::kRunStarts : Kind::kAnywhere;
    if (made.ends_at_bound && !made.starts_at_bound)
      throw Refused{"\\b at its end is supported with \\b at its begin alone"};
    if (kind_ != Kind::kAnywhere && !made.has_words_alone)
      throw Refused{
          "\\b is supported where all between matches word characters alone: \\w, \\d, letters, and sets of them"};
    pattern_ = compiled(made.out);
  } catch (const Refused& refused) {
    refuse_param(owner, "token_pattern", pattern, "which cannot be used here: " + refused.problem);
  }
}

Run next_run(const char* p, const char* end) {
  const std::array<char, 256>& is_word_byte = word_bytes();
  const auto at = [&](const char* q) { return is_word_byte[static_cast<unsigned char>(*q)]; };
  const auto is_wide = [](const char* q) { return static_cast<signed char>(*q) < 0; };
  while (p != end && !at(p)) {   // to the first word character
    if (!is_wide(p)) {
      ++p;
      continue;
    }
    const char* next = p;
    if (is_word(next_code_point(next, end))) break;
    p = next;
  }
  const char* const begin = p;
  std::int64_t n = 0;
  for (; p != end; ++n) {
    if (at(p)) {
      ++p;
      continue;
    }
    if (!is_wide(p)) break;
    const char* next = p;
    if (!is_word(next_code_point(next, end))) break;
    p = next;
  }
  return {begin, p, n > 1};
}

}   // namespace kedge::engine::text
