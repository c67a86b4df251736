// TfidfTransformer: counts of terms into weights.
#pragma once

#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/text/tfidf.h"

namespace kedge::engine {

// Takes counts, sparse or dense, and makes sparse rows. Host code. Errors: kBadData without rows, and for other columns
// than the fitted ones.
template <class T>
class TfidfTransformer final : public Transformer<T> {
 public:
  explicit TfidfTransformer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_sparse() const override { return true; }
  Squares squares() const override { return params_.norm == schema::Value("l2") ? Squares::kColumns : Squares::kNone; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  text::TfidfParams params_;
  std::vector<double> idf_;   // empty: none
  std::int64_t n_features_ = 0;
};

}   // namespace kedge::engine
