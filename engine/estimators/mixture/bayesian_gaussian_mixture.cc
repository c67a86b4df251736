// BayesianGaussianMixture: priors, and the variational maximisation with scikit-learn's bound.
#include "engine/estimators/mixture/bayesian_gaussian_mixture.h"

#include <math.h>   // lgamma_r

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/mixture/small_cholesky.h"

namespace kedge::engine {
namespace {

using P = BayesianGaussianMixtureParams;
using Numbers = std::vector<double>;
constexpr const char* kName = "BayesianGaussianMixture";
constexpr const char* kProcess = "dirichlet_process";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    return add_mixture_params(made)
        .add("weight_concentration_prior_type", &P::weight_concentration_prior_type,
             {kProcess, "dirichlet_distribution"}, "The prior of the weights.")
        .add("weight_concentration_prior", &P::weight_concentration_prior, above(0),
             "Concentration of that prior: small values leave few components; null for 1 / n_components.")
        .add("mean_precision_prior", &P::mean_precision_prior, above(0),
             "Precision of the prior of the means; null for 1.")
        .any("mean_prior", &P::mean_prior, {array_form(), null_form()}, "Mean of the prior; null for that of the data.")
        .add("degrees_of_freedom_prior", &P::degrees_of_freedom_prior, above(0),
             "Degrees of freedom of the prior of the covariances, above n_features - 1; null for n_features.")
        .any("covariance_prior", &P::covariance_prior,
             {number_form(above(0)), array_form({array_form()}), array_form(), null_form()},
             "Covariance of the prior, in the shape of one component; null for that of the data.");
  }();
  return set;
}

// The derivative of the logarithm of the gamma function, for x > 0: the recurrence up to 10, then the asymptotic
// series. Source: Abramowitz and Stegun, 6.3.5 and 6.3.18.
double digamma(double x) {
  double sum = 0;
  while (x < 10) sum -= 1 / x, x += 1;
  const double y = 1 / (x * x);
  const double series =
      y *
      (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
  return sum + std::log(x) - 0.5 / x - series;
}

// std::lgamma writes a global sign.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

class BayesianRule final : public MixtureRule {
 public:
  BayesianRule(const P& params, MixturePriors priors, std::int64_t d)
      : params_(params), kind_(covariance_kind(params.covariance_type)), prior_(std::move(priors)), d_(d) {}

  MixtureState maximise(const MixtureMoments& m, std::optional<std::int64_t>) const override {
    MixtureState s;
    set_weights(m, s);
    for (std::size_t k = 0; k < m.counts.size(); ++k) {
      s.mean_precision.push_back(prior_.mean_precision + m.counts[k]);
      for (std::size_t j = 0; j < at(d_); ++j)
        s.means.push_back((prior_.mean_precision * prior_.mean[j] + m.counts[k] * m.means[k * at(d_) + j]) /
                          s.mean_precision[k]);
    }
    if (kind_ == CovarianceKind::kTied) tied(m, s);
    else by_component(m, s);
    s.factors = precision_factors(kName, kind_, params_.n_components, d_, s.covariances, params_.reg_covar);
    return s;
  }

  Numbers log_weights(const MixtureState& s) const override {
    const std::size_t n = s.mean_precision.size();
    const double d = static_cast<double>(d_);
    Numbers logs = expected_log_weights(s);
    for (std::size_t k = 0; k < n; ++k) {
      const double freedom = degrees(s, k);
      double log_lambda = d * std::log(2.0);
      for (std::int64_t j = 0; j < d_; ++j) log_lambda += digamma(0.5 * (freedom - static_cast<double>(j)));
      logs[k] += 0.5 * (log_lambda - d / s.mean_precision[k]) - 0.5 * d * std::log(freedom);
    }
    return logs;
  }

  double lower_bound(const MixtureState& s, const MixtureLikelihood& likelihood) const override {
    const double d = static_cast<double>(d_);
    Numbers determinants =
        MixtureComponents{.kind = kind_, .n = params_.n_components, .d = d_, .factors = s.factors}.log_determinants();
    double wishart = 0, precisions = 0;
    for (std::size_t k = 0; k < determinants.size(); ++k) {
      const double freedom = degrees(s, k);
      double gammas = 0;
      for (std::int64_t j = 0; j < d_; ++j) gammas += log_gamma(0.5 * (freedom - static_cast<double>(j)));
      wishart -= freedom * (determinants[k] - 0.5 * d * std::log(freedom)) + freedom * d * 0.5 * std::log(2.0) + gammas;
      precisions += std::log(s.mean_precision[k]);
    }
    return likelihood.entropy - wishart - weights_norm(s) - 0.5 * d * precisions;
  }

 private:
  double degrees(const MixtureState& s, std::size_t k) const {
    return s.degrees_of_freedom[s.degrees_of_freedom.size() == 1 ? 0 : k];
  }
  bool is_process() const { return params_.weight_concentration_prior_type == kProcess; }

  void set_weights(const MixtureMoments& m, MixtureState& s) const {
    const std::size_t n = m.counts.size();
    s.weights.assign(n, 0.0);
    if (!is_process()) {
      for (const double count : m.counts) s.concentration.push_back(prior_.weight_concentration + count);
      const double total = std::accumulate(s.concentration.begin(), s.concentration.end(), 0.0);
      for (std::size_t k = 0; k < n; ++k) s.weights[k] = s.concentration[k] / total;
      return;
    }
    s.concentration_rest.assign(n, prior_.weight_concentration);
    double behind = 0;   // counts of the components behind
    for (std::size_t k = n; k-- > 0;) s.concentration_rest[k] += behind, behind += m.counts[k];
    double left = 1, total = 0;   // of the stick that the components break
    for (std::size_t k = 0; k < n; ++k) {
      s.concentration.push_back(1 + m.counts[k]);
      const double sum = s.concentration[k] + s.concentration_rest[k];
      s.weights[k] = s.concentration[k] / sum * left, total += s.weights[k];
      left *= s.concentration_rest[k] / sum;
    }
    for (double& weight : s.weights) weight /= total;
  }

  Numbers expected_log_weights(const MixtureState& s) const {
    const std::size_t n = s.concentration.size();
    Numbers logs(n);
    if (!is_process()) {
      const double all = digamma(std::accumulate(s.concentration.begin(), s.concentration.end(), 0.0));
      for (std::size_t k = 0; k < n; ++k) logs[k] = digamma(s.concentration[k]) - all;
      return logs;
    }
    double before = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double sum = digamma(s.concentration[k] + s.concentration_rest[k]);
      logs[k] = digamma(s.concentration[k]) - sum + before;
      before += digamma(s.concentration_rest[k]) - sum;
    }
    return logs;
  }

  double weights_norm(const MixtureState& s) const {
    double norm = 0;
    if (is_process()) {
      for (std::size_t k = 0; k < s.concentration.size(); ++k) {
        const double a = s.concentration[k], b = s.concentration_rest[k];
        norm -= log_gamma(a) + log_gamma(b) - log_gamma(a + b);
      }
      return norm;
    }
    for (const double a : s.concentration) norm -= log_gamma(a);
    return norm + log_gamma(std::accumulate(s.concentration.begin(), s.concentration.end(), 0.0));
  }

  // How far the mean of component k lies from the prior's.
  double apart(const MixtureMoments& m, std::size_t k, std::int64_t j) const {
    return m.means[k * at(d_) + at(j)] - prior_.mean[at(j)];
  }

  void by_component(const MixtureMoments& m, MixtureState& s) const {
    s.covariances.resize(m.covariances.size());
    for (std::size_t k = 0; k < m.counts.size(); ++k) {
      s.degrees_of_freedom.push_back(prior_.degrees_of_freedom + m.counts[k]);
      const double share = prior_.mean_precision / s.mean_precision[k], freedom = s.degrees_of_freedom[k];
      const auto put = [&](std::size_t place, std::size_t of_prior, double product) {
        s.covariances[place] =
            (prior_.covariance[of_prior] + m.counts[k] * (m.covariances[place] + share * product)) / freedom;
      };
      double squares = 0;
      for (std::int64_t i = 0; i < d_; ++i) {
        squares += apart(m, k, i) * apart(m, k, i) / static_cast<double>(d_);
        if (kind_ == CovarianceKind::kDiag) put(k * at(d_) + at(i), at(i), apart(m, k, i) * apart(m, k, i));
        for (std::int64_t j = 0; kind_ == CovarianceKind::kFull && j < d_; ++j)
          put((k * at(d_) + at(i)) * at(d_) + at(j), at(i * d_ + j), apart(m, k, i) * apart(m, k, j));
      }
      if (kind_ == CovarianceKind::kSpherical) put(k, 0, squares);
    }
  }

  void tied(const MixtureMoments& m, MixtureState& s) const {
    const double n = static_cast<double>(m.counts.size()),
                 total = std::accumulate(m.counts.begin(), m.counts.end(), 0.0);
    const double freedom = prior_.degrees_of_freedom + total / n;
    s.degrees_of_freedom = {freedom};
    s.covariances.resize(m.covariances.size());
    for (std::int64_t i = 0; i < d_; ++i)
      for (std::int64_t j = 0; j < d_; ++j) {
        double between = 0;
        for (std::size_t k = 0; k < m.counts.size(); ++k)
          between += m.counts[k] / s.mean_precision[k] * apart(m, k, i) * apart(m, k, j);
        const std::size_t place = at(i * d_ + j);
        s.covariances[place] =
            (prior_.covariance[place] + m.covariances[place] * total / n + prior_.mean_precision / n * between) /
            freedom;
      }
  }

  const P& params_;
  CovarianceKind kind_;
  MixturePriors prior_;   // its mean less that of the columns
  std::int64_t d_;
};

// The covariance of the rows (n - 1 in the denominator) by kind.
Numbers covariance_of_rows(CovarianceKind kind, std::int64_t n, std::int64_t d, MixtureRows& rows) {
  Numbers S = rows.scatter();
  for (double& s : S) s /= static_cast<double>(n - 1);
  if (kind == CovarianceKind::kFull || kind == CovarianceKind::kTied) return S;
  Numbers diagonal;
  for (std::int64_t j = 0; j < d; ++j) diagonal.push_back(S[at(j * (d + 1))]);
  if (kind == CovarianceKind::kDiag) return diagonal;
  return {std::accumulate(diagonal.begin(), diagonal.end(), 0.0) / static_cast<double>(d)};
}

// The given prior. Errors: kBadData for another shape, or where it is not positive definite.
Numbers given_covariance(const schema::Value& value, CovarianceKind kind, std::int64_t d) {
  const auto refuse = [&](const char* wanted) {
    throw schema::Error(schema::ErrorCode::kBadData, fmt::format("{}: covariance_prior must be {}", kName, wanted));
  };
  if (kind == CovarianceKind::kSpherical) {
    const auto* const number = std::get_if<double>(&value.data);
    if (!number) refuse("one number");
    return {*number};
  }
  if (kind == CovarianceKind::kDiag) {
    const auto numbers = numbers_of(value);
    if (!numbers || static_cast<std::int64_t>(numbers->size()) != d || std::ranges::min(*numbers) <= 0)
      refuse("a positive number for each column");
    return *numbers;
  }
  const auto rows = rows_of(value);
  if (!rows || static_cast<std::int64_t>(rows->size()) != d || static_cast<std::int64_t>(rows->front().size()) != d)
    refuse("a matrix with a row and a column for each column of the data");
  Numbers S, L(at(d * d));
  for (const Numbers& row : *rows) S.insert(S.end(), row.begin(), row.end());
  if (!lower_cholesky(S.data(), d, L.data())) refuse("positive definite");
  return S;
}

}   // namespace

template <class T>
BayesianGaussianMixture<T>::BayesianGaussianMixture(const schema::ValueMap& params)
    : BayesianGaussianMixture(param_set().parse(params)) {}

template <class T>
BayesianGaussianMixture<T>::BayesianGaussianMixture(const BayesianGaussianMixtureParams& params)
    : MixtureModel<T>(kName, params), params_(params) {}

template <class T>
schema::EstimatorInfo BayesianGaussianMixture<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "mixture",
          .doc = "Mixture of normal distributions with priors, by variational inference.",
          .params = param_set().infos(),
          .attributes = {"weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "converged_",
                         "n_iter_", "lower_bound_", "lower_bounds_", "weight_concentration_prior_",
                         "weight_concentration_", "mean_precision_prior_", "mean_prior_", "mean_precision_",
                         "degrees_of_freedom_prior_", "degrees_of_freedom_", "covariance_prior_"},
          .deviations = {"Rows are centred first and everything is computed in float64, so that offsets and float32 "
                         "cost no digits.",
                         "warm_start is ignored: every fit starts anew. sample is not offered."}};
}

template <class T>
std::unique_ptr<MixtureRule> BayesianGaussianMixture<T>::rule(const Context&, MatrixView<const double> X,
                                                              const std::vector<double>& mean, MixtureRows& rows) {
  const std::int64_t d = X.cols;
  priors_ = {.weight_concentration =
                 params_.weight_concentration_prior.value_or(1.0 / static_cast<double>(params_.n_components)),
             .mean_precision = params_.mean_precision_prior.value_or(1.0),
             .degrees_of_freedom = params_.degrees_of_freedom_prior.value_or(static_cast<double>(d)),
             .mean = numbers_of(params_.mean_prior).value_or(mean)};
  require(static_cast<std::int64_t>(priors_.mean.size()) == d, schema::ErrorCode::kBadData,
          "{}: mean_prior has {} numbers, must have one for each of {} columns", kName, priors_.mean.size(), d);
  require(priors_.degrees_of_freedom > static_cast<double>(d) - 1, schema::ErrorCode::kBadData,
          "{}: degrees_of_freedom_prior is {}, must be above {}, the columns less 1", kName, priors_.degrees_of_freedom,
          d - 1);
  priors_.covariance = params_.covariance_prior.is_null() ? covariance_of_rows(this->kind(), X.rows, d, rows)
                                                          : given_covariance(params_.covariance_prior, this->kind(), d);
  MixturePriors centred = priors_;
  for (std::size_t j = 0; j < centred.mean.size(); ++j) centred.mean[j] -= mean[j];
  return std::make_unique<BayesianRule>(params_, std::move(centred), d);
}

template <class T>
schema::ValueMap BayesianGaussianMixture<T>::attributes() const {
  schema::ValueMap all = MixtureModel<T>::attributes();
  const MixtureState& s = this->fitted();
  const auto whole = [&](const Numbers& numbers) -> schema::Value {
    return numbers.size() == 1 ? schema::Value(numbers.front()) : schema::Value(numbers);
  };
  const bool is_tied = this->kind() == CovarianceKind::kTied, is_process = !s.concentration_rest.empty();
  const bool is_matrix = is_tied || this->kind() == CovarianceKind::kFull;
  all.insert(
      all.end(),
      {{"weight_concentration_prior_", priors_.weight_concentration},
       {"weight_concentration_", is_process ? schema::Value(schema::ValueList{s.concentration, s.concentration_rest})
                                            : schema::Value(s.concentration)},
       {"mean_precision_prior_", priors_.mean_precision},
       {"mean_prior_", priors_.mean},
       {"mean_precision_", s.mean_precision},
       {"degrees_of_freedom_prior_", priors_.degrees_of_freedom},
       {"degrees_of_freedom_", is_tied ? whole(s.degrees_of_freedom) : schema::Value(s.degrees_of_freedom)},
       {"covariance_prior_", is_matrix ? rows_value(priors_.covariance, this->n_features())
                             : this->kind() == CovarianceKind::kDiag ? schema::Value(priors_.covariance)
                                                                     : whole(priors_.covariance)}});
  return all;
}

template <class T>
void BayesianGaussianMixture<T>::state(StateArchive& archive) {
  MixtureModel<T>::state(archive);
  MixtureState& s = this->fitted();
  const std::int64_t n = params_.n_components, d = archive.n_features();
  const bool is_process = params_.weight_concentration_prior_type == kProcess;
  archive.field("concentration", s.concentration, n);
  archive.field("concentration_rest", s.concentration_rest, is_process ? n : 0);
  archive.field("mean_precision", s.mean_precision, n);
  archive.field("degrees_of_freedom", s.degrees_of_freedom, this->kind() == CovarianceKind::kTied ? 1 : n);
  archive.field("weight_concentration_prior", priors_.weight_concentration);
  archive.field("mean_precision_prior", priors_.mean_precision);
  archive.field("degrees_of_freedom_prior", priors_.degrees_of_freedom);
  archive.field("mean_prior", priors_.mean, d);
  archive.field("covariance_prior", priors_.covariance, static_cast<std::int64_t>(covariance_size(this->kind(), 1, d)));
}

template class BayesianGaussianMixture<float>;
template class BayesianGaussianMixture<double>;

}   // namespace kedge::engine
