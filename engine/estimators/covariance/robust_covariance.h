// MinCovDet and EllipticEnvelope: the covariance of the rows that lie closest together, and what lies outside of it.
#pragma once

#include <optional>

#include "engine/core/params.h"
#include "engine/estimators/covariance/fast_mcd.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/row_scores.h"

namespace kedge::engine {

struct MinCovDetParams {
  bool store_precision = true, assume_centered = false;
  std::optional<double> support_fraction;
  std::optional<std::int64_t> random_state;
};
struct EllipticEnvelopeParams : MinCovDetParams {
  double contamination = 0.1;
};

// What both keep of a fit.
class RobustFit {
 public:
  template <class T>
  void fit(const Context& ctx, const char* owner, const Samples<T>& X, const MinCovDetParams& params);
  schema::ValueMap attributes(bool store_precision) const;
  void state(StateArchive& archive);
  const RobustCovariance& found() const { return found_; }
  std::int64_t n_features() const { return n_features_; }

 private:
  RobustCovariance found_;
  std::int64_t n_features_ = 0;
};

// See fast_mcd.h. Everything is computed in double.
template <class T>
class MinCovDet final : public Estimator<T> {
 public:
  explicit MinCovDet(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override { return fit_.attributes(params_.store_precision); }
  void state(StateArchive& archive) override { fit_.state(archive); }

 private:
  MinCovDetParams params_;
  RobustFit fit_;
};

// Scores are minus the squared Mahalanobis distances from the location.
template <class T>
class EllipticEnvelope final : public OutlierDetector<T> {
 public:
  explicit EllipticEnvelope(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Matrix<double> scores(const Context& ctx, const Samples<T>& X) const override;

  EllipticEnvelopeParams params_;
  RobustFit fit_;
};

}   // namespace kedge::engine
