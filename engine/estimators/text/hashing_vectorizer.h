// HashingVectorizer: the terms of texts, counted in columns that a hash names.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/text/analyzer.h"
#include "engine/estimators/text/documents.h"
#include "engine/estimators/text/host_rows.h"

namespace kedge::engine {

struct HashingVectorizerParams : text::AnalyzerParams {
  std::int64_t n_features = std::int64_t{1} << 20;
  schema::Value norm = "l2";
  bool binary = false, alternate_sign = true;
};

// Nothing is learnt. Takes one column of texts and makes sparse rows, on all threads of the host. Errors: kBadData for
// what is no column of texts.
template <class T>
class HashingVectorizer final : public Transformer<T>, public ReadsTexts {
 public:
  explicit HashingVectorizer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {}; }
  void state(StateArchive& archive) override;

 private:
  HashingVectorizerParams params_;
  text::Analyzer analyzer_;
};

namespace text {
// MurmurHash3 (x86, 32 bits), as scikit-learn's FeatureHasher uses it.
std::int32_t murmur_hash(std::string_view bytes, std::uint32_t seed);
// The column of a hash among n_features, as there.
std::int32_t hashed_column(std::int32_t hash, std::int64_t n_features);
}   // namespace text

}   // namespace kedge::engine
