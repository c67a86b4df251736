// Outlier detectors: a score less a threshold.
#include "engine/estimators/row_scores.h"

namespace kedge::engine {

template <class T>
std::vector<std::string> OutlierDetector<T>::row_outputs() const {
  if (!can_predict()) return {};
  return {std::string(kDecisionFunction), std::string(kScoreSamples)};
}

template <class T>
Matrix<double> OutlierDetector<T>::row_scores(const Context& ctx, const Samples<T>& X, std::string_view output) const {
  Matrix<double> found = scores(ctx, X);
  if (output == kScoreSamples) return found;
  const Matrix<double> offset(ctx.memory(), 1, 1, std::vector<double>{offset_});
  ctx.ops<double>().maps->combine(Binary::kSubtract, std::as_const(found).view(), offset.view(), found.view());
  return found;
}

template <class T>
std::vector<std::int32_t> OutlierDetector<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::int32_t> labels;
  for (const double decision : row_scores(ctx, X, kDecisionFunction).to_host()) labels.push_back(decision < 0 ? -1 : 1);
  return labels;
}

double score_quantile(const Context& ctx, MatrixView<const double> scores, double share) {
  const Array<double> q(ctx.memory(), std::span<const double>(&share, 1));
  Matrix<double> out(ctx.memory(), 1, 1);
  ctx.ops<double>().columns->column_quantiles(scores, {}, q.view(), out.view());
  return out.to_host()[0];
}

template class OutlierDetector<float>;
template class OutlierDetector<double>;

}   // namespace kedge::engine
