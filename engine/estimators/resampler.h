// Steps that change which rows a fit sees: more of a rare class, fewer of a frequent one.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/estimators/fit_transformer.h"

namespace kedge::engine {

// Rows and what they are to be mapped to.
template <class T>
struct Resampled {
  Samples<T> X;
  Target y;
};

// Rows that it was not fitted with pass a resampler unchanged: transform() gives its input. Only what fits a step asks
// for the resampled rows, so rows that are predicted or scored are never resampled.
template <class T>
class Resampler : public Transformer<T> {
 public:
  TargetKind target_kind() const override { return TargetKind::kClasses; }
  // Whether fit_resample() gives the rows their weights. Otherwise a job with weights is refused.
  virtual bool keeps_weights() const = 0;
  // fit(), and the rows that the next step is fitted with. Errors: those of fit().
  virtual Resampled<T> fit_resample(const Context& ctx, const Samples<T>& X, const Target& y) = 0;
};

template <class T>
Resampler<T>* resampler_of(Estimator<T>& estimator) {
  return dynamic_cast<Resampler<T>*>(&estimator);
}

// The target of the steps of a chain while they are fitted, one after the other: a resampler replaces it. Weights
// belong to the last step, as in a scikit-learn pipeline that is given LAST__sample_weight, and to resamplers, which
// hand them on. Borrows the target that it begins with.
class FitTarget {
 public:
  explicit FitTarget(const Target& y) : y_(&y) {}
  const Target& weighted() const { return *y_; }
  const Target& unweighted() {
    if (y_->weights.empty()) return *y_;
    if (!unweighted_) unweighted_.emplace(*y_), unweighted_->weights.clear();
    return *unweighted_;
  }
  void become(std::shared_ptr<const Target> y) {
    if (!y) return;   // no resampler
    own_ = std::move(y), y_ = own_.get();
    unweighted_.reset();
  }

 private:
  const Target* y_;
  std::shared_ptr<const Target> own_;
  std::optional<Target> unweighted_;
};

// What the rows of a fit become in a step, and their new target; null where it stays.
template <class T>
struct FittedRows {
  Samples<T> X;
  std::shared_ptr<const Target> y = {};
};

// Fits a step that is not the last one.
template <class T>
FittedRows<T> fitted_rows(const Context& ctx, Estimator<T>& estimator, const Samples<T>& X, FitTarget& y) {
  if (Resampler<T>* const resampler = resampler_of(estimator)) {
    Resampled<T> made = resampler->fit_resample(ctx, X, y.weighted());
    return {std::move(made.X), std::make_shared<const Target>(std::move(made.y))};
  }
  return {fit_transformed(ctx, estimator, X, y.unweighted())};
}

}   // namespace kedge::engine
