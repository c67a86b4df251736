// The default of Classifier::predict: the first largest probability of each row.
#include "engine/estimators/estimator.h"

namespace kedge::engine {

template <class T>
std::vector<std::int32_t> Classifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  Matrix<double> proba(ctx.memory(), X.n_rows(), n_classes());
  predict_proba(ctx, X, proba.view());
  Array<std::int32_t> codes(ctx.memory(), X.n_rows());
  ctx.ops<double>().argmax_rows(std::as_const(proba).view(), codes.view());
  return codes.to_host();
}

template class Classifier<float>;
template class Classifier<double>;

}  // namespace kedge::engine
