// CountVectorizer and TfidfVectorizer: the terms of texts, counted or weighted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/text/analyzer.h"
#include "engine/estimators/text/documents.h"
#include "engine/estimators/text/term_counts.h"
#include "engine/estimators/text/tfidf.h"

namespace kedge::engine {

struct CountVectorizerParams : text::AnalyzerParams {
  schema::Value max_df = 1.0, min_df = 1, vocabulary;
  std::optional<std::int64_t> max_features;
  bool binary = false;
};

struct TfidfVectorizerParams : CountVectorizerParams, text::TfidfParams {};

// Takes one column of texts (documents.h) and makes sparse rows. fit() keeps what transform() of the same samples will
// give, so that texts are taken apart once; the first such call takes it. Host code on all threads; a GPU gets the
// finished rows. Errors: kBadData for what is no column of texts, for texts without a term, and for limits that leave
// none.
template <class T, bool kWeighted>
class TermVectorizer final : public Transformer<T>, public ReadsTexts, public NamesOutputs {
 public:
  explicit TermVectorizer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;
  std::vector<std::string> output_names() const override { return vocabulary_.names(); }

 private:
  // What transform() of some samples will give.
  struct Kept {
    std::weak_ptr<const Table<T>> table;
    std::shared_ptr<const Array<std::int32_t>> rows;
    Samples<T> made;
  };
  static constexpr const char* kOwner = kWeighted ? "TfidfVectorizer" : "CountVectorizer";
  Samples<T> finished(const Context& ctx, const text::Documents& documents, text::HostRows<std::int32_t> counts) const;

  TfidfVectorizerParams params_;
  text::Analyzer analyzer_;
  std::optional<text::Vocabulary> given_;   // of the user
  text::Vocabulary vocabulary_;
  std::vector<double> idf_;   // empty: none
  mutable std::optional<Kept> kept_;
};

template <class T>
using CountVectorizer = TermVectorizer<T, false>;
template <class T>
using TfidfVectorizer = TermVectorizer<T, true>;

}   // namespace kedge::engine
