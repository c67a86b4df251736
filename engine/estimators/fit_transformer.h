// Transformers that treat the rows of their fit otherwise than later rows: scikit-learn's fit_transform() where it is
// more than fit() and transform().
#pragma once

#include "engine/estimators/estimator.h"

namespace kedge::engine {

// Beside Transformer<T>, by what learns from the target of each row: a row of the fit is transformed by what other rows
// say. Chains and nested steps call fit_transform() for the rows that they fit.
template <class T>
class FitTransformer {
 public:
  virtual ~FitTransformer() = default;
  // Whether, with these parameters, fit_transform() gives something else than fit() and transform().
  virtual bool has_own_fit_transform() const = 0;
  // fit(), and what the rows of the fit become. Errors: those of both.
  virtual Samples<T> fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) = 0;
};

// The estimator as such a transformer; null where fit() and transform() say all.
template <class T>
FitTransformer<T>* own_fit_transform(Estimator<T>& estimator) {
  auto* const own = dynamic_cast<FitTransformer<T>*>(&estimator);
  return own && own->has_own_fit_transform() ? own : nullptr;
}

// Fits a transformer, and gives what the rows of the fit become.
template <class T>
Samples<T> fit_transformed(const Context& ctx, Estimator<T>& estimator, const Samples<T>& X, const Target& y) {
  if (FitTransformer<T>* const own = own_fit_transform(estimator)) return own->fit_transform(ctx, X, y);
  estimator.fit(ctx, X, y);
  return dynamic_cast<const Transformer<T>&>(estimator).transform(ctx, X);
}

}   // namespace kedge::engine
