// Scores of columns, from moments by class and one product with the target.
#include "engine/estimators/selection/feature_scores.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "engine/estimators/checks.h"
#include "engine/estimators/class_moments.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/selection/tail_probabilities.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

// A pass over the columns for each class, whose rows weigh 1 and all others 0.
template <class T>
ClassMoments sparse_class_moments(const Context& ctx, const Samples<T>& X, const PresentClasses& present, const Target& y) {
  const SparseRows<T> rows(ctx, X);
  const CsrMatrix<T> columns = transposed(ctx, rows.view());
  ClassMoments moments;
  for (std::int32_t c = 0; c < present.size(); ++c) {
    ctx.check_stop();
    std::vector<double> is_member;
    for (const std::int32_t code : y.codes) is_member.push_back(present.positions[static_cast<std::size_t>(code)] == c ? 1.0 : 0.0);
    const Array<double> weights(ctx.memory(), std::span<const double>(is_member));
    Array<double> mean(ctx.memory(), X.n_cols()), variance(ctx.memory(), X.n_cols());
    ctx.ops<T>().sparse->moments(columns.view(), weights.view(), mean.view(), variance.view());
    const std::vector<double> m = mean.to_host(), v = variance.to_host();
    moments.count.push_back(static_cast<double>(present.counts[static_cast<std::size_t>(c)]));
    moments.mean.insert(moments.mean.end(), m.begin(), m.end());
    moments.variance.insert(moments.variance.end(), v.begin(), v.end());
  }
  return moments;
}

template <class T>
ClassMoments class_moments(const Context& ctx, const Samples<T>& X, const PresentClasses& present, const Target& y) {
  if (X.is_sparse()) return sparse_class_moments(ctx, X, present, y);
  const DevicePositions codes(ctx, present, y);
  Matrix<T> scratch;
  return fetch_class_moments(ctx, X.values(ctx, scratch), {}, codes.view(), {}, present.size());
}

PresentClasses two_classes(const Context& ctx, const char* owner, const Target& y) {
  PresentClasses present(ctx, y);
  require(present.size() >= 2, schema::ErrorCode::kBadData, "{}: got {} class, needs at least 2", owner, present.size());
  return present;
}

template <class T>
FeatureScores f_classif(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y) {
  const PresentClasses present = two_classes(ctx, owner, y);
  const ClassMoments m = class_moments(ctx, X, present, y);
  const Moments all = column_moments(ctx, X);
  const auto k = static_cast<std::size_t>(present.size()), d = static_cast<std::size_t>(X.n_cols());
  const double between_freedom = static_cast<double>(k) - 1,
               within_freedom = static_cast<double>(X.n_rows()) - static_cast<double>(k);
  FeatureScores result;
  for (std::size_t j = 0; j < d; ++j) {
    double between = 0, within = 0;
    for (std::size_t c = 0; c < k; ++c) {
      const double away = m.mean[c * d + j] - all.mean[j];
      between += m.count[c] * away * away, within += m.count[c] * m.variance[c * d + j];
    }
    const double f = between / between_freedom / (within / within_freedom);
    result.scores.push_back(f);
    result.p_values.push_back(within_freedom > 0 ? f_tail(between_freedom, within_freedom, f)
                                                 : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

template <class T>
FeatureScores chi_squared(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y) {
  const PresentClasses present = two_classes(ctx, owner, y);
  const Ranges ranges = column_ranges(ctx, X);
  const ClassMoments m = class_moments(ctx, X, present, y);
  const auto k = static_cast<std::size_t>(present.size()), d = static_cast<std::size_t>(X.n_cols());
  FeatureScores result;
  for (std::size_t j = 0; j < d; ++j) {
    require(!(ranges.minimum[j] < 0), schema::ErrorCode::kBadData, "{}: column {} has {}, must not be negative for chi2", owner,
            X.table->column_label(static_cast<std::int64_t>(j)), ranges.minimum[j]);
    double total = 0, score = 0;
    for (std::size_t c = 0; c < k; ++c) total += m.count[c] * m.mean[c * d + j];
    for (std::size_t c = 0; c < k; ++c) {
      const double expected = m.count[c] / static_cast<double>(X.n_rows()) * total,
                   away = m.count[c] * m.mean[c * d + j] - expected;
      score += away * away / expected;
    }
    result.scores.push_back(score);
    result.p_values.push_back(chi_squared_tail(static_cast<double>(k) - 1, score));
  }
  return result;
}

// sum_i (x[i, j] - mean[j]) (y[i] - mean of y), for each column.
template <class T>
std::vector<double> covariances(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean,
                                const std::vector<double>& y) {
  if (X.is_sparse()) {   // y is centred, so that the columns' means drop out
    const SparseRows<T> rows(ctx, X);
    const CsrMatrix<T> columns = transposed(ctx, rows.view());
    return product(ctx, columns.view(), y, 1).to_host();
  }
  std::vector<T> centred(y.begin(), y.end());
  const Matrix<T> target(ctx.memory(), X.n_rows(), 1, centred);
  Matrix<T> scratch, products(ctx.memory(), X.n_cols(), 1);
  const MatrixView<const T> values = X.then(mean, std::vector<double>(mean.size(), 1.0)).values(ctx, scratch);
  ctx.ops<T>().linear->gemm(Transpose::kYes, Transpose::kNo, T{1}, values, target.view(), T{0}, products.view());
  const std::vector<T> host = products.to_host();
  return {host.begin(), host.end()};
}

template <class T>
FeatureScores f_regression(const Context& ctx, const Samples<T>& X, const Target& y) {
  const double n = static_cast<double>(X.n_rows()), mean_y = std::accumulate(y.values.begin(), y.values.end(), 0.0) / n;
  std::vector<double> centred;
  double squares = 0;
  for (const double v : y.values) centred.push_back(v - mean_y), squares += centred.back() * centred.back();
  const Moments moments = column_moments(ctx, X);
  const std::vector<double> products = covariances(ctx, X, moments.mean, centred);
  FeatureScores result;
  for (std::size_t j = 0; j < products.size(); ++j) {
    const double correlation = products[j] / std::sqrt(n * moments.variance[j]) / std::sqrt(squares),
                 share = correlation * correlation;
    double f = share / (1 - share) * (n - 2), p = f_tail(1, n - 2, std::max(f, 0.0));
    if (std::isnan(f)) f = 0, p = 1;                                             // a constant column, or target
    if (std::isinf(f) || f < 0) f = std::numeric_limits<double>::max(), p = 0;   // perfect correlation
    result.scores.push_back(f), result.p_values.push_back(p);
  }
  return result;
}

}  // namespace

const std::vector<std::string>& score_functions() {
  static const std::vector<std::string> names{"f_classif", "f_regression", "chi2"};
  return names;
}

template <class T>
FeatureScores feature_scores(const Context& ctx, const char* owner, const std::string& function, const Samples<T>& X,
                             const Target& y) {
  if (function == "f_regression") return f_regression(ctx, X, y);
  return function == "chi2" ? chi_squared(ctx, owner, X, y) : f_classif(ctx, owner, X, y);
}

template FeatureScores feature_scores(const Context&, const char*, const std::string&, const Samples<float>&, const Target&);
template FeatureScores feature_scores(const Context&, const char*, const std::string&, const Samples<double>&, const Target&);

}  // namespace kedge::engine
