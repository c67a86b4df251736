// Texts into terms: characters and their classes, patterns, the paths of fit and transform, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>

#include "catalogue_rows.h"
#include "engine/core/host_view.h"
#include "engine/estimators/text/analyzer.h"
#include "engine/estimators/text/hashing_vectorizer.h"
#include "engine/estimators/text/term_sort.h"
#include "engine/estimators/text/unicode.h"
#include "engine/estimators/text/word_table.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::ValueList;
using schema::ValueMap;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Context context() {
  return {.device = testing::device_named("cpu")};
}

// A column of texts, of which row i has texts[rows[i]]; NaN: none.
Samples<double> column_of(const Context& ctx, const std::vector<std::string>& texts, std::vector<double> rows = {}) {
  for (std::size_t i = 0; rows.size() < texts.size() && i < texts.size(); ++i) rows.push_back(static_cast<double>(i));
  return samples_of(Matrix<double>(ctx.memory(), static_cast<std::int64_t>(rows.size()), 1, rows),
                    {{"body", texts, true}});
}

// Words that repeat, with letters beyond ASCII, in many documents.
std::vector<std::string> many_texts(int n) {
  static const std::vector<std::string> kWords = {"Alpha", "beta", "gämma", "delta", "Épsilon",
                                                  "zeta",  "eta",  "ΘΗΤΑΣ", "of",    "x1"};
  std::vector<std::string> texts;
  unsigned state = 7;
  for (int i = 0; i < n; ++i) {
    std::string text = std::to_string(i);
    for (int k = 0; k < i % 23; ++k) {
      state = state * 1664525 + 1013904223;
      text += " " + kWords[state >> 16 & 7] + (state >> 20 & 1 ? "," : "") + std::to_string(state >> 24 & 15);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

struct Sparse {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  friend bool operator==(const Sparse&, const Sparse&) = default;
};

Sparse sparse_of(const Samples<double>& made) {
  const CsrView<const double> view = std::as_const(*made.table->sparse).view();
  const auto offsets = host_view(view.offsets);
  const auto columns = host_view(view.columns);
  const auto values = host_view(view.values);
  return {{offsets.begin(), offsets.end()}, {columns.begin(), columns.end()}, {values.begin(), values.end()}};
}

const Transformer<double>& transformer(const Estimator<double>& estimator) {
  return dynamic_cast<const Transformer<double>&>(estimator);
}

std::string refusal_of_fit(const std::string& name, const ValueMap& params, const Samples<double>& X) {
  try {
    const auto estimator = find_estimator(name)->make_f64(params);
    estimator->fit(context(), X, {});
  } catch (const schema::Error& error) {
    return error.message + (error.where.empty() ? "" : " at " + error.where);
  }
  return "nothing";
}

TEST(Text, KnowsWordCharactersAndSpacesAsPythonDoes) {
  for (const text::CodePoint c :
       std::initializer_list<text::CodePoint>{'a', 'Z', '0', '_', 0xE9, 0x661, 0xBD, 0x2168, 0x6771, 0x2B0})
    EXPECT_TRUE(text::is_word(c)) << c;
  for (const text::CodePoint c :
       std::initializer_list<text::CodePoint>{' ', '-', '\'', 0x301, 0x940, 0xFFFD, 0x1F600, 0x200D})
    EXPECT_FALSE(text::is_word(c)) << c;
  for (const text::CodePoint c : std::initializer_list<text::CodePoint>{' ', '\t', 0x1C, 0x85, 0xA0, 0x3000})
    EXPECT_TRUE(text::is_space(c)) << c;
  for (const text::CodePoint c : std::initializer_list<text::CodePoint>{'a', 0x200B, 0x180E})
    EXPECT_FALSE(text::is_space(c)) << c;
}

TEST(Text, LowersAndStripsAsPythonDoes) {
  std::string out;
  text::lower("ÀΣΑΣ İ ΑΣ'Α", out);
  EXPECT_EQ(out, "àσας i\u0307 ασ'α");
  text::strip_accents("cafe\u0301 ﬁ Å", out);
  EXPECT_EQ(out, "cafe fi A");
  text::strip_to_ascii("東é½", out);
  EXPECT_EQ(out, "e12");
}

TEST(Text, ReadsBytesThatAreNoUtf8AsReplacementCharacters) {
  const auto ctx = context();
  const auto vectorizer = find_estimator("CountVectorizer")->make_f64({});
  vectorizer->fit(ctx,
                  column_of(ctx, {"ab\xFF"
                                  "cd \xC3",
                                  "\xED\xA0\x80xy"}),
                  {});
  EXPECT_EQ(schema::to_string(vectorizer->attributes()),
            R"({"vocabulary_":{"ab":0,"cd":1,"xy":2},"fixed_vocabulary_":false})");
}

TEST(Text, HashesAsMurmurDoes) {
  EXPECT_EQ(text::murmur_hash("", 0), 0);
  EXPECT_EQ(text::murmur_hash("foo", 0), -156908512);
  EXPECT_EQ(text::murmur_hash("hello world", 0), 1586663183);
}

struct PatternCase {
  const char *pattern, *problem;
};
void PrintTo(const PatternCase& c, std::ostream* out) {
  *out << c.pattern;
}

class RefusedPattern : public ::testing::TestWithParam<PatternCase> {};

TEST_P(RefusedPattern, SaysWhichPartIsNotSupported) {
  try {
    find_estimator("TfidfVectorizer")->make_f64({{"token_pattern", GetParam().pattern}});
    FAIL() << "it was taken";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.where, "params.token_pattern");
    EXPECT_NE(error.message.find(GetParam().problem), std::string::npos) << error.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, RefusedPattern,
                         ::testing::Values(PatternCase{"(?<=a)b", "lookbehind"}, PatternCase{"a(?=b)", "lookahead"},
                                           PatternCase{"\\w*", "empty"},
                                           PatternCase{"(a)(b)", "more than one capturing group"},
                                           PatternCase{"\\ba b\\b", "word characters alone"},
                                           PatternCase{"\\bab|cd\\b", "word characters alone"},
                                           PatternCase{"a\\bb", "the begin and the end alone"},
                                           PatternCase{"a$", "'$'"}, PatternCase{"[\\W\\d]+", "within brackets"},
                                           PatternCase{"(", "missing"}, PatternCase{"a\\b", "begin alone"}));

// fit() numbers n-grams, transform() looks their texts up.
TEST(Text, TransformsTheFittedRowsToTheSameBitsBothWays) {
  const auto ctx = context();
  const std::vector<std::string> texts = many_texts(3000);
  for (const ValueMap& params :
       std::vector<ValueMap>{{},
                             {{"ngram_range", ValueList{1, 3}}, {"min_df", 2}},
                             {{"analyzer", "char_wb"}, {"ngram_range", ValueList{2, 4}}, {"max_features", 100}},
                             {{"analyzer", "char"}, {"ngram_range", ValueList{2, 3}}, {"max_df", 0.5}}}) {
    const auto vectorizer = find_estimator("TfidfVectorizer")->make_f64(params);
    const Samples<double> X = column_of(ctx, texts);
    vectorizer->fit(ctx, X, {});
    const Sparse kept = sparse_of(transformer(*vectorizer).transform(ctx, X));
    EXPECT_EQ(kept, sparse_of(transformer(*vectorizer).transform(ctx, X)));
  }
}

TEST(Text, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto ctx = context();
  const std::vector<std::string> texts = many_texts(30000);
  const int before = omp_get_max_threads();
  std::vector<Sparse> made;
  std::vector<std::string> vocabularies;
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    const auto vectorizer = find_estimator("TfidfVectorizer")->make_f64({{"ngram_range", ValueList{1, 2}}});
    const Samples<double> X = column_of(ctx, texts);
    vectorizer->fit(ctx, X, {});
    vocabularies.push_back(schema::to_string(vectorizer->attributes()));
    made.push_back(sparse_of(transformer(*vectorizer).transform(ctx, X)));
  }
  omp_set_num_threads(before);
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(vocabularies[0], vocabularies[1]);
}

// Enough places for parts of a level, of the frequencies and of the values on several threads.
TEST(Text, CountsBigramsAsAMapOfStringsDoes) {
  const auto ctx = context();
  const std::vector<std::string> texts = many_texts(4000);
  const auto X = column_of(ctx, texts);
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  const auto estimator =
      find_estimator("CountVectorizer")
          ->make_f64(
              {{"ngram_range", ValueList{1, 2}}, {"token_pattern", "[^ ,]+"}, {"lowercase", false}, {"min_df", 2}});
  estimator->fit(ctx, X, {});
  const Sparse made = sparse_of(transformer(*estimator).transform(ctx, X));
  omp_set_num_threads(before);

  std::vector<std::map<std::string, double>> counts(texts.size());
  std::map<std::string, int> rows_with;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string last, word;
    for (const char c : texts[i] + " ") {
      if (c != ' ' && c != ',') {
        word += c;
        continue;
      }
      if (word.empty()) continue;
      ++counts[i][word];
      if (!last.empty()) ++counts[i][last + " " + word];
      last = std::exchange(word, "");
    }
    for (const auto& [term, n] : counts[i]) ++rows_with[term];
  }
  std::map<std::string, std::int32_t> column;   // ascending, as the vocabulary
  for (const auto& [term, n] : rows_with)
    if (n >= 2) column.emplace(term, static_cast<std::int32_t>(column.size()));
  Sparse expected{{0}, {}, {}};
  for (const auto& row : counts) {
    for (const auto& [term, n] : row) {
      const auto found = column.find(term);
      if (found != column.end()) expected.columns.push_back(found->second), expected.values.push_back(n);
    }
    expected.offsets.push_back(static_cast<std::int64_t>(expected.columns.size()));
  }
  EXPECT_EQ(made, expected);
}

TEST(Text, SortsColumnsOfAnyNumberAndBound) {
  unsigned state = 3;
  std::vector<std::int32_t> spare;
  for (const std::int64_t bound : {1, 200, 256, 70'000, 20'000'000, 0x7fffffff}) {
    for (const int n : {0, 1, 47, 48, 1000}) {
      std::vector<std::int32_t> columns;
      for (int i = 0; i < n; ++i) {
        state = state * 1664525 + 1013904223;
        columns.push_back(static_cast<std::int32_t>(state % static_cast<unsigned>(bound)));
      }
      std::vector<std::int32_t> sorted = columns;
      std::ranges::sort(sorted);
      text::sort_columns(columns, spare, bound);
      EXPECT_EQ(columns, sorted) << bound << ", " << n;
    }
  }
}

TEST(Text, NumbersWordsOfAnyLength) {
  text::WordTable table;
  std::vector<std::string> words;
  for (std::size_t n = 0; n < 40; ++n) {
    words.push_back(std::string(n, 'a'));
    if (n > 0) words.push_back(std::string(n - 1, 'a') + "b"), words.push_back("b" + std::string(n - 1, 'a'));
  }
  const std::set<std::string> distinct(words.begin(), words.end());
  for (const std::string& word : words) table.number_of(word);
  EXPECT_EQ(table.size(), distinct.size());
  for (const std::string& word : words) EXPECT_EQ(table.word(static_cast<std::size_t>(table.find(word))), word);
  EXPECT_EQ(table.find("aaac"), -1);
}

TEST(Text, CountsRowsThatShareATextAndTakesMissingOnesAsEmpty) {
  const auto ctx = context();
  const auto vectorizer = find_estimator("TfidfVectorizer")->make_f64({{"norm", nullptr}, {"smooth_idf", false}});
  const Samples<double> X = column_of(ctx, {"red", "blue red"}, {1, 0, kNan, 0});
  vectorizer->fit(ctx, X, {});
  const double red = std::log(4.0 / 3) + 1, blue = std::log(4.0) + 1;
  EXPECT_EQ(sparse_of(transformer(*vectorizer).transform(ctx, X)),
            (Sparse{{0, 2, 3, 3, 4}, {0, 1, 1, 1}, {blue, red, red, red}}));
}

TEST(Text, RefusesWhatIsNoColumnOfTexts) {
  const auto ctx = context();
  const Samples<double> numbers =
      samples_of(Matrix<double>(ctx.memory(), 2, 1, std::vector<double>{1, 2}), {{"age", {}, false}});
  Samples<double> two = samples_of(Matrix<double>(ctx.memory(), 1, 2, std::vector<double>{0, 0}),
                                   {{"a", {"x"}, true}, {"b", {"x"}, true}});
  for (const char* name : {"CountVectorizer", "TfidfVectorizer", "HashingVectorizer"}) {
    EXPECT_EQ(refusal_of_fit(name, {}, numbers),
              fmt::format("{}: column 'age' holds numbers, or missing cells alone; must hold texts", name));
    EXPECT_NE(refusal_of_fit(name, {}, two).find("takes one column of texts, got 2 columns"), std::string::npos);
  }
}

TEST(Text, RefusesTextsWithoutTerms) {
  const auto ctx = context();
  EXPECT_EQ(refusal_of_fit("CountVectorizer", {{"stop_words", "english"}}, column_of(ctx, {"the of", "", "a"})),
            "CountVectorizer: the vocabulary is empty; perhaps the texts contain stop words only");
  EXPECT_NE(
      refusal_of_fit("CountVectorizer", {{"min_df", 3}}, column_of(ctx, {"one", "two", "six"})).find("no term is left"),
      std::string::npos);
  EXPECT_NE(refusal_of_fit("CountVectorizer", {{"min_df", 3}, {"max_df", 2}}, column_of(ctx, {"one"}))
                .find("fewer documents than min_df"),
            std::string::npos);
  EXPECT_NE(refusal_of_fit("CountVectorizer", {{"token_pattern", "\\w+ \\w+"}, {"ngram_range", ValueList{1, 2}}},
                           column_of(ctx, {"an apple"}))
                .find("which has a blank"),
            std::string::npos);
}

TEST(Text, RefusesParametersByName) {
  const auto ctx = context();
  const Samples<double> X = column_of(ctx, {"word"});
  const std::vector<std::pair<ValueMap, std::string>> cases = {
      {{{"ngram_range", ValueList{2, 1}}}, "params.ngram_range"},
      {{{"ngram_range", ValueList{1}}}, "params.ngram_range"},
      {{{"vocabulary", ValueList{"a", "a"}}}, "params.vocabulary"},
      {{{"vocabulary", ValueList{}}}, "params.vocabulary"},
      {{{"vocabulary", ValueMap{{"a", 0}, {"b", 2}}}}, "params.vocabulary"},
      {{{"analyzer", "words"}}, "params.analyzer"},
      {{{"stop_words", "french"}}, "params.stop_words"},
      {{{"tokenizer", "split"}}, "params.tokenizer"},
      {{{"max_df", 1.5}}, "params.max_df"},
      {{{"norm", "max"}}, "params.norm"},
  };
  for (const auto& [params, where] : cases)
    EXPECT_NE(refusal_of_fit("TfidfVectorizer", params, X).find(" at " + where), std::string::npos) << where;
}

TEST(Text, LeavesOutAVocabularyThatAResultCannotHold) {
  auto ctx = context();
  std::vector<std::string> warnings;
  ctx.emit = [&](schema::EventBody event) { warnings.push_back(std::get<schema::LogEvent>(event).message); };
  std::string all;
  for (int i = 0; i < 270'000; ++i) all += fmt::format("w{} ", i);
  const auto vectorizer = find_estimator("CountVectorizer")->make_f64({});
  vectorizer->fit(ctx, column_of(ctx, {all}), {});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("270000 terms, a result lists at most 262144"), std::string::npos) << warnings[0];
  EXPECT_TRUE(vectorizer->attributes().front().second.is_null());
}

TEST(Text, GoesThroughAColumnTransformerWithItsNames) {
  const auto ctx = context();
  const schema::Value part = ValueMap{
      {"name", "words"}, {"transformer", ValueMap{{"estimator", "CountVectorizer"}}}, {"columns", ValueList{"body"}}};
  const auto both =
      find_estimator("ColumnTransformer")->make_f64({{"transformers", ValueList{part}}, {"remainder", "passthrough"}});
  const Samples<double> X = samples_of(Matrix<double>(ctx.memory(), 2, 2, std::vector<double>{7, 1, 8, 0}),
                                       {{"n", {}, false}, {"body", {"up up", "down"}, true}});
  both->fit(ctx, X, {});
  const Samples<double> made = transformer(*both).transform(ctx, X);
  std::vector<std::string> names;
  for (const Feature& feature : made.table->features) names.push_back(feature.name);
  EXPECT_EQ(names, (std::vector<std::string>{"words__down", "words__up", "remainder__n"}));
  EXPECT_EQ(host_values(ctx, made), (std::vector<double>{1, 0, 7, 0, 2, 8}));
  EXPECT_EQ(dynamic_cast<const ReadsTexts&>(*both).text_columns(), (std::vector<std::int64_t>{1}));
}

}   // namespace
}   // namespace kedge::engine
