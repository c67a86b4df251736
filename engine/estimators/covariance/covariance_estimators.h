// EmpiricalCovariance, ShrunkCovariance, LedoitWolf and OAS.
#pragma once

#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

struct CovarianceParams {
  bool store_precision = true, assume_centered = false;
};
struct ShrunkCovarianceParams : CovarianceParams {
  double shrinkage = 0.1;
};

// A covariance matrix is no more than one Gram matrix of the centred rows, in double whatever T is. Cost: n_samples *
// n_features^2. A singular matrix has its pseudo-inverse as precision.
template <class T>
class CovarianceModel : public Estimator<T> {
 public:
  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

 protected:
  // `name` is kept as it is.
  CovarianceModel(const char* name, const CovarianceParams& params) : name_(name), shared_(params) {}
  // Shrinks S, the covariance of the rows of a design that is centred (n in the denominator).
  virtual void finish(const Context& ctx, const Design<T>& design, std::vector<double>& S) = 0;

 private:
  const char* name_;
  CovarianceParams shared_;
  std::int64_t n_features_ = 0;
  std::vector<double> location_, covariance_, precision_;   // d, d x d, d x d or empty
};

template <class T>
class EmpiricalCovariance final : public CovarianceModel<T> {
 public:
  explicit EmpiricalCovariance(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 private:
  void finish(const Context&, const Design<T>&, std::vector<double>&) override {}
};

// Pulled towards a multiple of the unit matrix by a given share.
template <class T>
class ShrunkCovariance final : public CovarianceModel<T> {
 public:
  explicit ShrunkCovariance(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 private:
  explicit ShrunkCovariance(const ShrunkCovarianceParams& params)
      : CovarianceModel<T>("ShrunkCovariance", params), shrinkage_(params.shrinkage) {}
  void finish(const Context& ctx, const Design<T>& design, std::vector<double>& S) override;

  double shrinkage_;
};

// Pulled by the share that the data suggest: by Ledoit and Wolf's estimate, which reads the rows once more, or by that
// of Chen and others, from the covariance alone (shrinkage.h).
template <class T>
class EstimatedShrinkage : public CovarianceModel<T> {
 public:
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  EstimatedShrinkage(const char* name, const CovarianceParams& params) : CovarianceModel<T>(name, params) {}
  virtual double share(const Context& ctx, const Design<T>& design, const std::vector<double>& S) const = 0;

 private:
  void finish(const Context& ctx, const Design<T>& design, std::vector<double>& S) override;

  double shrinkage_ = 0;
};

template <class T>
class LedoitWolf final : public EstimatedShrinkage<T> {
 public:
  explicit LedoitWolf(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 private:
  double share(const Context& ctx, const Design<T>& design, const std::vector<double>& S) const override;
};

template <class T>
class OAS final : public EstimatedShrinkage<T> {
 public:
  explicit OAS(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

 private:
  double share(const Context& ctx, const Design<T>& design, const std::vector<double>& S) const override;
};

// The pseudo-inverse of a symmetric matrix (d x d): scipy.linalg.pinvh.
std::vector<double> symmetric_inverse(const Context& ctx, const std::vector<double>& S, std::int64_t d);

// A factor F (d x d) of that inverse: F'F, where S has no negative eigenvalues beyond rounding.
std::vector<double> symmetric_inverse_factor(const Context& ctx, const std::vector<double>& S, std::int64_t d);

}   // namespace kedge::engine
