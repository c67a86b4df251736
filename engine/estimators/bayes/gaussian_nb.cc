// GaussianNB: class moments, and the log-likelihood made of them.
#include "engine/estimators/bayes/gaussian_nb.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/class_moments.h"
#include "engine/estimators/own_values.h"

namespace kedge::engine {
namespace {

using P = GaussianNBParams;
constexpr double kFallbackVariance = 1e-9;
constexpr std::int64_t kBlockRows = 4096;
constexpr double kPriorSumTolerance = 1e-5;   // numpy.isclose

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>("GaussianNB")
          .any("priors", &P::priors, {array_form(), null_form()},
               "Prior probabilities of the classes, in order; null takes the shares in the data.")
          .add("var_smoothing", &P::var_smoothing, at_least(0),
               "This part of the largest column variance is added to every variance, for stability.");
  return set;
}

// Of all rows together: within the classes and between them. Means count from the first class's, so that a constant column has none.
double largest_column_variance(const std::vector<double>& count, const std::vector<double>& mean, const std::vector<double>& variance) {
  const std::size_t classes = count.size(), d = mean.size() / classes;
  double n = 0, largest = 0;
  for (const double c : count) n += c;
  for (std::size_t j = 0; j < d; ++j) {
    double centre = 0, total = 0;
    for (std::size_t c = 0; c < classes; ++c) centre += count[c] / n * (mean[c * d + j] - mean[j]);
    for (std::size_t c = 0; c < classes; ++c) {
      const double shift = mean[c * d + j] - mean[j] - centre;
      total += count[c] / n * (variance[c * d + j] + shift * shift);
    }
    largest = std::max(largest, total);
  }
  return largest;
}

}  // namespace

template <class T>
GaussianNB<T>::GaussianNB(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const auto priors = numbers_of(params_.priors);
  if (!priors) return;
  double sum = 0;
  for (const double prior : *priors) {
    if (!(prior >= 0)) refuse_param("GaussianNB", "priors", params_.priors, "must not have negative numbers");
    sum += prior;
  }
  if (std::abs(sum - 1) > kPriorSumTolerance) refuse_param("GaussianNB", "priors", params_.priors, "must sum to 1");
}

template <class T>
schema::EstimatorInfo GaussianNB<T>::info() {
  return {.name = "GaussianNB",
          .kind = "classifier",
          .family = "naive_bayes",
          .doc = "Gaussian naive Bayes.",
          .params = param_set().infos(),
          .attributes = {"classes_", "class_count_", "class_prior_", "theta_", "var_", "epsilon_"},
          .deviations = {"A variance that stays 0 after smoothing is taken as 1e-9; scikit-learn divides by zero."}};
}

template <class T>
void GaussianNB<T>::set_priors(const Target& y) {
  const auto priors = numbers_of(params_.priors);
  if (priors && priors->size() != y.classes.size())
    refuse_param("GaussianNB", "priors", params_.priors,
                 "must have one number for each of the " + std::to_string(y.classes.size()) + " classes of the data");
  class_prior_.resize(present_.codes.size());
  const std::vector<double> totals = class_totals(present_, y);
  const double total = std::accumulate(totals.begin(), totals.end(), 0.0);
  for (std::size_t c = 0; c < class_prior_.size(); ++c)
    class_prior_[c] = priors ? (*priors)[static_cast<std::size_t>(present_.codes[c])] : totals[c] / total;
}

// Of the rows as they are: scikit-learn's smoothing knows no weights.
template <class T>
double GaussianNB<T>::largest_variance(const Context& ctx, const Samples<T>& X, const Target& y) const {
  if (y.weights.empty()) return largest_column_variance(class_count_, theta_, variance_);
  const Moments moments = column_moments(ctx, X);
  return *std::max_element(moments.variance.begin(), moments.variance.end());
}

template <class T>
void GaussianNB<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows("GaussianNB", X);
  ctx.check_stop();
  present_ = PresentClasses(ctx, y);
  n_features_ = X.n_cols();
  set_priors(y);
  const DevicePositions positions(ctx, present_, y);
  const auto moments_of = [&](MatrixView<const T> values, VectorView<const std::int32_t> rows) {
    return fetch_class_moments(ctx, values, rows, positions.view(), y.device_weights(ctx), present_.size());
  };
  ClassMoments found = X.is_affine() ? moments_of(OwnValues<T>(ctx, X).view(), {})
                                     : moments_of(std::as_const(X.table->X).view(), X.row_view());   // where they lie
  class_count_ = std::move(found.count), theta_ = std::move(found.mean), variance_ = std::move(found.variance);
  for (std::vector<double>* moments : {&theta_, &variance_})   // a class of weight 0 has none
    for (double& m : *moments) m = std::isnan(m) ? 0.0 : m;
  epsilon_ = params_.var_smoothing * largest_variance(ctx, X, y);
  for (double& v : variance_) {
    v += epsilon_;
    if (!(v > 0)) v = kFallbackVariance;
  }
}

template <class T>
void GaussianNB<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  if (present_.size() > 0) require_fitted_columns("GaussianNB", X, static_cast<std::size_t>(n_features_));
  std::vector<double> log_prior(class_prior_.size());
  std::transform(class_prior_.begin(), class_prior_.end(), log_prior.begin(), [](double p) { return std::log(p); });
  Matrix<T> scratch, scores(ctx.memory(), X.n_rows(), present_.size());
  const Matrix<double> mean(ctx.memory(), present_.size(), n_features_, theta_);
  const Matrix<double> variance(ctx.memory(), present_.size(), n_features_, variance_);
  const Array<double> prior(ctx.memory(), std::span<const double>(log_prior));
  for (std::int64_t first = 0; first < X.n_rows(); first += kBlockRows) {   // gathered rows stay in the cache
    const std::int64_t count = std::min(kBlockRows, X.n_rows() - first);
    ctx.check_stop();
    ctx.ops<T>().bayes->gaussian_log_likelihood(X.values(ctx, first, count, scratch), mean.view(), variance.view(),
                                                prior.view(), scores.view().row_range(first, count));
  }
  spread_scores(ctx, present_, std::as_const(scores).view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
schema::ValueMap GaussianNB<T>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"class_count_", class_count_},
          {"class_prior_", class_prior_},
          {"theta_", rows_value(theta_, n_features_)},
          {"var_", rows_value(variance_, n_features_)},
          {"epsilon_", epsilon_}};
}

template <class T>
void GaussianNB<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  archive.field("class_count", class_count_, present_.size());
  archive.field("class_prior", class_prior_, present_.size());
  archive.field("theta", theta_, present_.size(), n_features_);
  archive.field("variance", variance_, present_.size(), n_features_);
  archive.field("epsilon", epsilon_);
}

template class GaussianNB<float>;
template class GaussianNB<double>;

}  // namespace kedge::engine
