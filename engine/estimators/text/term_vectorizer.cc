// Fits and applies the vectorisers with a vocabulary.
#include "engine/estimators/text/term_vectorizer.h"

#include <algorithm>
#include <cmath>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/text/blocks.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using P = TfidfVectorizerParams;

constexpr std::size_t kMostGivenTerms = 10'000'000;
constexpr std::int64_t kMostListed = std::int64_t{1} << 18;   // terms of a vocabulary_ in a result, which is JSON

std::vector<schema::ParamForm> limit_forms() {
  return {integer_form(at_least(1)), number_form(between(0, 1))};
}

ParamSet<P> counting_params(const char* owner) {
  ParamSet<P> set(owner);
  text::add_analyzer_params(set);
  set.any("max_df", text::member_of<P>(&P::max_df), limit_forms(),
          "Leave out terms that more documents have: a count, or a share.")
      .any("min_df", text::member_of<P>(&P::min_df), limit_forms(),
           "Leave out terms that fewer documents have: a count, or a share.")
      .add("max_features", text::member_of<P>(&P::max_features), at_least(1),
           "Keep so many terms, the most frequent ones.")
      .any("vocabulary", text::member_of<P>(&P::vocabulary), {array_form({string_form()}), object_form(), null_form()},
           "The terms, as a list or as an object with their columns, instead of those of the texts.")
      .add("binary", text::member_of<P>(&P::binary), "Count a term once a document.")
      .ignore("dtype", "float64", {string_form()});
  return set;
}

const ParamSet<P>& param_set(bool is_weighted) {
  static const ParamSet<P> counts = counting_params("CountVectorizer");
  static const ParamSet<P> weights = [] {
    ParamSet<P> set = counting_params("TfidfVectorizer");
    text::add_tfidf_params(set);
    return set;
  }();
  return is_weighted ? weights : counts;
}

// The terms that the user gave, by column.
std::vector<std::string> given_terms(std::string_view owner, const Value& vocabulary) {
  std::vector<std::string> terms;
  const auto refuse = [&](std::string problem) { refuse_param(owner, "vocabulary", "a vocabulary", problem); };
  if (const auto* list = std::get_if<schema::ValueList>(&vocabulary.data)) {
    for (const Value& term : *list) terms.push_back(std::get<std::string>(term.data));
  } else {
    const auto& map = std::get<schema::ValueMap>(vocabulary.data);
    std::vector<char> is_taken(map.size(), 0);
    terms.resize(map.size());
    for (const auto& [term, value] : map) {
      const auto* column = std::get_if<std::int64_t>(&value.data);
      const bool is_column = column && *column >= 0 && *column < static_cast<std::int64_t>(map.size());
      if (!is_column || is_taken[static_cast<std::size_t>(*column)])
        refuse(fmt::format("must give the columns 0 to {} once each, '{}' has {}", map.size() - 1, term,
                           schema::to_string(value)));
      is_taken[static_cast<std::size_t>(*column)] = 1, terms[static_cast<std::size_t>(*column)] = term;
    }
  }
  if (terms.empty()) refuse("is empty");
  if (terms.size() > kMostGivenTerms) refuse(fmt::format("has more than {} terms", kMostGivenTerms));
  return terms;
}

text::Vocabulary vocabulary_of(std::string_view owner, const std::vector<std::string>& terms) {
  std::string all;
  std::vector<std::int64_t> ends;
  text::WordTable seen;
  for (const std::string& term : terms) {
    all += term;
    ends.push_back(static_cast<std::int64_t>(all.size()));
    if (seen.number_of(term) + 1 != static_cast<std::int64_t>(ends.size()))
      refuse_param(owner, "vocabulary", "a vocabulary", "has the term '" + term + "' twice");
  }
  return {std::move(all), std::move(ends)};
}

std::vector<std::int64_t> rows_with(const text::Documents& documents, const text::HostRows<std::int32_t>& counts) {
  std::vector<std::int64_t> n(static_cast<std::size_t>(counts.cols), 0);
  for (std::size_t i = 0; i < documents.texts.size(); ++i)
    for (std::int64_t e = counts.offsets[i]; e < counts.offsets[i + 1]; ++e)
      n[static_cast<std::size_t>(counts.columns[static_cast<std::size_t>(e)])] += documents.n_rows[i];
  return n;
}

}   // namespace

template <class T, bool kWeighted>
TermVectorizer<T, kWeighted>::TermVectorizer(const schema::ValueMap& params)
    : params_(param_set(kWeighted).parse(params)), analyzer_(kOwner, params_) {
  if (!params_.vocabulary.is_null()) given_ = vocabulary_of(kOwner, given_terms(kOwner, params_.vocabulary));
}

template <class T, bool kWeighted>
schema::EstimatorInfo TermVectorizer<T, kWeighted>::info() {
  std::vector<std::string> attributes = {"vocabulary_", "fixed_vocabulary_"};
  if (kWeighted) attributes.emplace_back("idf_");
  return {.name = kOwner,
          .kind = "transformer",
          .family = "feature_extraction",
          .doc = kWeighted ? "Turn a column of texts into weights of its terms (tf-idf)."
                           : "Turn a column of texts into counts of its terms.",
          .params = param_set(kWeighted).infos(),
          .attributes = std::move(attributes),
          .deviations = {
              "Takes one column of texts: a column of categories, whose texts it takes apart. A missing cell is an "
              "empty text; scikit-learn refuses it.",
              "Texts are UTF-8, a byte that is not counts as U+FFFD. Values have the type of the job's table, "
              "whatever dtype says.",
              "token_pattern is RE2's: no lookahead, no lookbehind, no backreferences; \\b at the begin, or at both "
              "ends, of what matches word"
              "characters alone. preprocessor and tokenizer, which are functions, do not exist.",
              "Of terms that are equally frequent max_features keeps the first ones; in scikit-learn that depends "
              "on the processor.",
              "A result lists a vocabulary_ of at most 262,144 terms, and is null for a larger one; a model has all.",
              "The columns of a row ascend, as in the result of scikit-learn's transform(); those of its "
              "fit_transform() do not."}};
}

template <class T, bool kWeighted>
void TermVectorizer<T, kWeighted>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  kept_.reset();
  const text::Documents documents = text::documents_of(ctx, kOwner, X);
  text::HostRows<std::int32_t> counts;
  std::vector<std::int64_t> n_rows_with;
  if (given_) {
    vocabulary_ = *given_;
    counts = text::known_counts(analyzer_, documents, vocabulary_, params_.binary);
    n_rows_with = rows_with(documents, counts);
  } else {
    text::CountedTerms found = text::counted_terms(
        kOwner, analyzer_, documents, {params_.min_df, params_.max_df, params_.max_features}, params_.binary);
    vocabulary_ = std::move(found.vocabulary), counts = std::move(found.counts),
    n_rows_with = std::move(found.n_rows_with);
  }
  idf_.clear();
  if (kWeighted) idf_ = text::inverse_frequencies<T>(params_, X.n_rows(), n_rows_with);
  if (vocabulary_.size() > kMostListed)
    ctx.warn(fmt::format("{}: vocabulary_ has {} terms, a result lists at most {}; max_features or min_df bound them",
                         kOwner, vocabulary_.size(), kMostListed));
  kept_ = Kept{X.table, X.rows, finished(ctx, documents, std::move(counts))};
}

template <class T, bool kWeighted>
Samples<T> TermVectorizer<T, kWeighted>::finished(const Context& ctx, const text::Documents& documents,
                                                  text::HostRows<std::int32_t> counts) const {
  text::HostRows<T> rows{
      .cols = counts.cols, .offsets = std::move(counts.offsets), .columns = std::move(counts.columns), .values = {}};
  rows.values.resize(counts.values.size());
  text::for_parts(rows.values.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) rows.values[e] = static_cast<T>(counts.values[e]);
  });
  counts.values = {};
  if (kWeighted) text::weigh(params_, idf_, rows);
  Samples<T> made = samples_of(text::of_all_rows(documents, std::move(rows)).to_device(ctx));
  if (std::ranges::all_of(idf_, [](double idf) { return std::isfinite(idf); })) made.table->is_finite = true;
  return made;
}

template <class T, bool kWeighted>
Samples<T> TermVectorizer<T, kWeighted>::transform(const Context& ctx, const Samples<T>& X) const {
  ctx.check_stop();
  if (kept_ && kept_->table.lock() == X.table && kept_->rows == X.rows) {
    Samples<T> made = std::move(kept_->made);
    kept_.reset();
    return made;
  }
  const text::Documents documents = text::documents_of(ctx, kOwner, X);
  return finished(ctx, documents, text::known_counts(analyzer_, documents, vocabulary_, params_.binary));
}

template <class T, bool kWeighted>
schema::ValueMap TermVectorizer<T, kWeighted>::attributes() const {
  schema::ValueMap map{{"vocabulary_", vocabulary_.size() > kMostListed ? Value() : Value(vocabulary_.columns())},
                       {"fixed_vocabulary_", given_.has_value()}};
  if (kWeighted && params_.use_idf) map.emplace_back("idf_", idf_);
  return map;
}

template <class T, bool kWeighted>
void TermVectorizer<T, kWeighted>::state(StateArchive& archive) {
  vocabulary_.state(archive);
  if (!kWeighted) return;
  archive.field("idf", idf_, params_.use_idf ? vocabulary_.size() : 0);
}

template class TermVectorizer<float, false>;
template class TermVectorizer<double, false>;
template class TermVectorizer<float, true>;
template class TermVectorizer<double, true>;

}   // namespace kedge::engine
