// Normalises documents and finds their tokens or characters.
#include "engine/estimators/text/analyzer.h"

#include <array>

#include "engine/core/require.h"
#include "engine/estimators/text/stop_words.h"
#include "engine/estimators/text/unicode.h"

namespace kedge::engine::text {
namespace {

constexpr std::size_t kLongestDocument = std::size_t{1} << 30;   // bytes: places within a text are 32 bits wide
constexpr std::size_t kMostStopWords = 100'000;

// By byte: what lower case makes of it, or 0 where it is no word character.
const std::array<char, 256>& lower_word_bytes(bool lowers) {
  static const auto table = [](bool lowers) {
    std::array<char, 256> made{};
    for (int c = 0; c < 128; ++c)
      if (is_word(c))
        made[static_cast<std::size_t>(c)] = static_cast<char>(lowers && c >= 'A' && c <= 'Z' ? c + 32 : c);
    return made;
  };
  static const std::array<char, 256> kLower = table(true), kSame = table(false);
  return lowers ? kLower : kSame;
}

void lower_ascii(std::string_view text, std::string& out) {
  out.assign(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

// Two and more characters of white space become one blank, as re.sub(r"\s\s+", " ") makes them.
void squeeze(std::string_view text, std::string& out) {
  out.clear();
  const char *p = text.data(), *const end = p + text.size();
  while (p != end) {
    const char* next = p;
    const CodePoint c = next_code_point(next, end);
    const bool is_blank = is_space(c);
    int n = 1;
    const char* after = next;
    for (; is_blank && after != end; ++n) {
      const char* further = after;
      if (!is_space(next_code_point(further, end))) break;
      after = further;
    }
    if (n > 1) out += ' ';
    else append(out, c);
    p = after;
  }
}

void add_piece(Pieces& pieces, std::size_t begin, std::size_t end) {
  pieces.begins.push_back(static_cast<std::uint32_t>(begin));
  pieces.ends.push_back(static_cast<std::uint32_t>(end));
}

void end_segment(Pieces& pieces) {
  pieces.segments.push_back(static_cast<std::uint32_t>(pieces.begins.size()));
}

}   // namespace

Analyzer::Analyzer(std::string_view owner, const AnalyzerParams& params)
    : unit_(params.analyzer == "word"   ? Unit::kWord
            : params.analyzer == "char" ? Unit::kCharacter
                                        : Unit::kPadded),
      lowercase_(params.lowercase),
      pattern_(owner, unit_ == Unit::kWord ? params.token_pattern : kUsualPattern) {
  if (const auto* how = std::get_if<std::string>(&params.strip_accents.data))
    accents_ = *how == "ascii" ? Accents::kAscii : Accents::kStripped;
  const std::vector<double> range = *numbers_of(params.ngram_range);
  if (range.size() != 2)
    refuse_param(owner, "ngram_range", params.ngram_range, "must be two numbers, the least and the most");
  least_ = static_cast<std::int64_t>(range[0]), most_ = static_cast<std::int64_t>(range[1]);
  if (least_ > most_) refuse_param(owner, "ngram_range", params.ngram_range, "must not begin with the larger number");
  if (unit_ == Unit::kWord) read_stop_words(owner, params.stop_words);
}

void Analyzer::read_stop_words(std::string_view owner, const schema::Value& words) {
  if (const auto* list = std::get_if<schema::ValueList>(&words.data)) {
    if (list->size() > kMostStopWords) refuse_param(owner, "stop_words", "a list", "has more than 100000 words");
    for (const schema::Value& word : *list) stop_words_.push_back(std::get<std::string>(word.data));
    for (const std::string& word : stop_words_) stopped_.insert(word);
  } else if (!words.is_null()) {
    for (const std::string_view word : english_stop_words()) stopped_.insert(word);
  }
}

void Analyzer::take_apart(std::string_view document, Pieces& pieces) const {
  require(document.size() <= kLongestDocument, schema::ErrorCode::kBadData,
          "a text of {} bytes is too long, at most {}", document.size(), kLongestDocument);
  pieces.clear();
  if (unit_ == Unit::kWord && pattern_.is_usual() && is_ascii(document)) add_words_of_ascii(document, pieces);
  else if (unit_ == Unit::kWord) add_words(normalised(document, pieces), pieces);
  else if (unit_ == Unit::kCharacter) add_characters(normalised(document, pieces), pieces);
  else add_padded_words(normalised(document, pieces), pieces);
  if (unit_ != Unit::kPadded) end_segment(pieces);
}

std::string_view Analyzer::normalised(std::string_view document, Pieces& pieces) const {
  std::string& made = pieces.scratch;
  if (is_ascii(document)) {
    if (!lowercase_) return document;
    lower_ascii(document, made);
    return made;
  }
  if (lowercase_) {
    lower(document, made);
  } else {   // so that what follows reads UTF-8
    made.clear();
    for (const char *p = document.data(), *const end = p + document.size(); p != end;)
      append(made, next_code_point(p, end));
  }
  if (accents_ == Accents::kKept) return made;
  if (accents_ == Accents::kAscii) strip_to_ascii(made, pieces.other);
  else strip_accents(made, pieces.other);
  return pieces.other;
}

// The usual case, in one pass over the bytes.
void Analyzer::add_words_of_ascii(std::string_view document, Pieces& pieces) const {
  const std::array<char, 256>& lower_word = lower_word_bytes(lowercase_);
  const char *p = document.data(), *const end = p + document.size();
  pieces.text.resize(document.size() + 1);
  char *const first = pieces.text.data(), *out = first;
  const auto word_byte = [&](const char* q) { return lower_word[static_cast<unsigned char>(*q)]; };
  while (true) {
    while (p != end && word_byte(p) == 0) ++p;
    if (p == end) break;
    char* const begin = out;
    for (char c; p != end && (c = word_byte(p)) != 0; ++p) *out++ = c;
    const std::string_view token(begin, static_cast<std::size_t>(out - begin));
    if (token.size() < 2 || is_stopped(token)) {
      out = begin;
      continue;
    }
    add_piece(pieces, static_cast<std::size_t>(begin - first), static_cast<std::size_t>(out - first));
    *out++ = ' ';
  }
  pieces.text.resize(static_cast<std::size_t>(out - first));
}

void Analyzer::add_words(std::string_view text, Pieces& pieces) const {
  pattern_.each(text, [&](std::string_view token) {
    if (is_stopped(token)) return;
    const std::size_t begin = pieces.text.size();
    pieces.text += token;
    add_piece(pieces, begin, pieces.text.size());
    pieces.text += ' ';
  });
}

void Analyzer::add_characters(std::string_view text, Pieces& pieces) const {
  squeeze(text, pieces.text);
  const char *const first = pieces.text.data(), *const end = first + pieces.text.size();
  for (const char* p = first; p != end;) {
    const auto begin = static_cast<std::size_t>(p - first);
    next_code_point(p, end);
    add_piece(pieces, begin, static_cast<std::size_t>(p - first));
  }
}

void Analyzer::add_padded_words(std::string_view text, Pieces& pieces) const {
  const auto add = [&](char blank) {
    pieces.text += blank;
    add_piece(pieces, pieces.text.size() - 1, pieces.text.size());
  };
  bool is_inside = false;
  const char *p = text.data(), *const end = p + text.size();
  while (p != end) {
    const char* const begin = p;
    if (is_space(next_code_point(p, end))) {
      if (is_inside) add(' '), end_segment(pieces);
      is_inside = false;
      continue;
    }
    if (!is_inside) add(' ');
    is_inside = true;
    const std::size_t place = pieces.text.size();
    pieces.text.append(begin, p);
    add_piece(pieces, place, pieces.text.size());
  }
  if (is_inside) add(' '), end_segment(pieces);
}

}   // namespace kedge::engine::text
