// Takes documents apart as scikit-learn's analyzers do: normalised text, its tokens or characters, and their n-grams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/text/token_pattern.h"

namespace kedge::engine::text {

// The parameters that all vectorisers share. A value.
struct AnalyzerParams {
  std::string analyzer = "word";
  bool lowercase = true;
  schema::Value strip_accents, stop_words;
  std::string token_pattern = kUsualPattern;
  schema::Value ngram_range = schema::ValueList{1, 1};
};

// A document taken apart; made once and filled again and again. Piece i is text[begins[i], ends[i]): a token, or a
// character. The n-gram of pieces i to j is text[begins[i], ends[j]): tokens are joined by a blank.
struct Pieces {
  std::string text;
  std::vector<std::uint32_t> begins, ends;
  std::vector<std::uint32_t> segments;   // the number of pieces up to the end of each: no n-gram crosses one
  std::string scratch, other;            // on the way to `text`

  void clear() { text.clear(), begins.clear(), ends.clear(), segments.clear(); }
  std::size_t size() const { return begins.size(); }
  std::string_view ngram(std::size_t first, std::size_t n) const {
    return std::string_view(text).substr(begins[first], ends[first + n - 1] - begins[first]);
  }
};

// Immutable; any number of threads may use one.
class Analyzer {
 public:
  // Errors: kInvalidValue at params.NAME.
  Analyzer(std::string_view owner, const AnalyzerParams& params);
  Analyzer(const Analyzer&) = delete;   // views of its stop words

  void take_apart(std::string_view document, Pieces& pieces) const;

  bool has_words() const { return unit_ == Unit::kWord; }
  std::int64_t least() const { return least_; }   // pieces of an n-gram
  std::int64_t most() const { return most_; }

  // Calls visit(first, n) for each n-gram of a segment of `size` pieces that is counted. A padded word that is shorter
  // than all of them is counted once, whole.
  template <class Visit>
  void each_ngram(std::size_t first, std::size_t size, const Visit& visit) const {
    const auto least = static_cast<std::size_t>(least_), most = std::min(static_cast<std::size_t>(most_), size);
    if (unit_ == Unit::kPadded && size > 0 && size < least) visit(first, size);
    for (std::size_t n = least; n <= most; ++n)
      for (std::size_t i = 0; i + n <= size; ++i) visit(first + i, n);
  }
  template <class Visit>
  void each_ngram(const Pieces& pieces, const Visit& visit) const {
    std::size_t first = 0;
    for (const std::uint32_t end : pieces.segments) each_ngram(first, end - first, visit), first = end;
  }
  // Whether a whole segment of `size` pieces counts although n-grams are longer.
  bool counts_short(std::int64_t size) const { return unit_ == Unit::kPadded && size < least_; }

 private:
  enum class Unit { kWord, kCharacter, kPadded };
  enum class Accents { kKept, kStripped, kAscii };
  std::string_view normalised(std::string_view document, Pieces& pieces) const;
  void add_words_of_ascii(std::string_view document, Pieces& pieces) const;
  void add_words(std::string_view text, Pieces& pieces) const;
  void add_characters(std::string_view text, Pieces& pieces) const;
  void add_padded_words(std::string_view text, Pieces& pieces) const;
  void read_stop_words(std::string_view owner, const schema::Value& words);
  bool is_stopped(std::string_view token) const { return !stopped_.empty() && stopped_.contains(token); }

  Unit unit_ = Unit::kWord;
  Accents accents_ = Accents::kKept;
  bool lowercase_ = true;
  std::int64_t least_ = 1, most_ = 1;
  TokenPattern pattern_;
  std::vector<std::string> stop_words_;
  std::unordered_set<std::string_view> stopped_;
};

// A member of a base as one of P, for ParamSet<P>.
template <class P, class B, class M>
constexpr M P::* member_of(M B::* member) {
  return member;
}

// Declares these parameters for an estimator whose struct derives from AnalyzerParams.
template <class P>
void add_analyzer_params(ParamSet<P>& set) {
  set.ignore("input", "content", {string_form({"content"})})
      .ignore("encoding", "utf-8", {string_form({"utf-8"})})
      .ignore("decode_error", "strict", {string_form({"strict", "ignore", "replace"})})
      .any("strip_accents", member_of<P>(&P::strip_accents), {string_form({"ascii", "unicode"}), null_form()},
           "Take accents off: ascii keeps nothing but ASCII.")
      .add("lowercase", member_of<P>(&P::lowercase), "Turn all to lower case first.")
      .ignore("preprocessor", nullptr, {null_form()})
      .ignore("tokenizer", nullptr, {null_form()})
      .any("stop_words", member_of<P>(&P::stop_words),
           {string_form({"english"}), array_form({string_form()}), null_form()},
           "Words that are left out: scikit-learn's English list, or a list of yours.")
      .any("token_pattern", member_of<P>(&P::token_pattern), {string_form()},
           "The regular expression of a word, where the analyzer is word; RE2's, with Unicode's \\w, \\d and \\s.")
      .any("ngram_range", member_of<P>(&P::ngram_range), {array_form({integer_form(between(1, 100))})},
           "The least and the most words or characters of a term.")
      .add("analyzer", member_of<P>(&P::analyzer), {"word", "char", "char_wb"},
           "Terms of words, of characters, or of characters within words that have blanks around them.");
}

}   // namespace kedge::engine::text
