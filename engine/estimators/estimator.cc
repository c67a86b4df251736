// What the interfaces do where an estimator says nothing else.
#include "engine/estimators/estimator.h"

#include <stdexcept>

#include "engine/core/state_archive.h"

namespace kedge::engine {

template <class T>
void Estimator<T>::state(StateArchive& archive) {
  archive.refuse();
}

template <class T>
void Classifier<T>::predict_proba(const Context&, const Samples<T>&, MatrixView<double>) const {
  throw std::logic_error("this classifier gives no probabilities");
}

template <class T>
void Classifier<T>::decision_function(const Context&, const Samples<T>&, MatrixView<double>) const {
  throw std::logic_error("this classifier has no decision function");
}

template <class T>
std::vector<std::int32_t> Classifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  if (!has_proba() && n_classes() == 2) {
    Matrix<double> decision(ctx.memory(), X.n_rows(), 1);
    decision_function(ctx, X, decision.view());
    std::vector<std::int32_t> codes;
    for (const double value : decision.to_host()) codes.push_back(value > 0 ? 1 : 0);
    return codes;
  }
  Matrix<double> scores(ctx.memory(), X.n_rows(), n_classes());
  if (has_proba()) predict_proba(ctx, X, scores.view());
  else decision_function(ctx, X, scores.view());
  Array<std::int32_t> codes(ctx.memory(), X.n_rows());
  ctx.ops<double>().rows->argmax_rows(std::as_const(scores).view(), codes.view());
  return codes.to_host();
}

template <class T>
std::vector<std::vector<double>> MultiOutput<T>::predict_proba(const Context&, const Samples<T>&) const {
  throw std::logic_error("this estimator of several targets gives no probabilities");
}

template <class T>
std::vector<std::int32_t> Clusterer<T>::predict(const Context&, const Samples<T>&) const {
  throw std::logic_error("this clusterer cannot predict");
}

template class Estimator<float>;
template class Estimator<double>;
template class Classifier<float>;
template class Classifier<double>;
template class MultiOutput<float>;
template class MultiOutput<double>;
template class Clusterer<float>;
template class Clusterer<double>;

}  // namespace kedge::engine
