// Normalizer and Binarizer: each row scaled to unit norm, each value compared with a threshold. Nothing is learnt.
#pragma once

#include <string>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct NormalizerParams {
  std::string norm = "l2";
};

// Rows of zeros (of a norm below 10 eps) are left as they are. O(n_samples * n_features). Errors: kBadData without rows.
template <class T>
class Normalizer final : public Transformer<T> {
 public:
  explicit Normalizer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  bool accepts_sparse() const override { return true; }
  Squares squares() const override { return params_.norm == "l2" ? Squares::kColumns : Squares::kNone; }
  schema::ValueMap attributes() const override { return {}; }
  void state(StateArchive& archive) override;

 private:
  NormalizerParams params_;
  std::int64_t n_features_ = 0;
};

struct BinarizerParams {
  double threshold = 0;
};

// 1 for values above the threshold, 0 for the others. O(n_samples * n_features). Errors: kBadData without rows.
template <class T>
class Binarizer final : public Transformer<T> {
 public:
  explicit Binarizer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  bool accepts_sparse() const override { return params_.threshold >= 0; }   // else what is left out becomes 1
  schema::ValueMap attributes() const override { return {}; }
  void state(StateArchive& archive) override;

 private:
  BinarizerParams params_;
  std::int64_t n_features_ = 0;
};

}  // namespace kedge::engine
