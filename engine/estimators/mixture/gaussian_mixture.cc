// GaussianMixture: maximum likelihood, and the starts that a user gives.
#include "engine/estimators/mixture/gaussian_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using P = GaussianMixtureParams;
using Numbers = std::vector<double>;
constexpr const char* kName = "GaussianMixture";
constexpr double kWeightSum = 1e-8;   // how far given weights may sum to another number than 1

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    return add_mixture_params(made)
        .any("weights_init", &P::weights_init, {array_form(), null_form()}, "Weights to start from; they sum to 1.")
        .any("means_init", &P::means_init, {array_form({array_form()}), null_form()},
             "Means to start from, one row each.")
        .any("precisions_init", &P::precisions_init,
             {array_form({array_form({array_form()})}), array_form({array_form()}), array_form(), null_form()},
             "Precisions (inverses of covariances) to start from, in the shape of covariances_.");
  }();
  return set;
}

// The numbers of a list nested in any depth, in order; their count by level goes into `shape`, which stays empty where
// the lists differ in size.
bool flatten(const schema::Value& value, std::size_t depth, std::vector<std::int64_t>& shape, Numbers& numbers) {
  const auto row = numbers_of(value);
  const auto* const list = std::get_if<schema::ValueList>(&value.data);
  const auto size = static_cast<std::int64_t>(row ? row->size() : list ? list->size() : 0);
  if (size == 0) return false;
  if (shape.size() == depth) shape.push_back(size);
  if (shape[depth] != size) return false;
  if (row) {
    numbers.insert(numbers.end(), row->begin(), row->end());
    return shape.size() == depth + 1;
  }
  for (const schema::Value& item : *list)
    if (!flatten(item, depth + 1, shape, numbers)) return false;
  return true;
}

// A given start of this shape. Errors: kBadData with the shape that the data want.
Numbers given(const char* name, const schema::Value& value, const std::vector<std::int64_t>& wanted) {
  std::vector<std::int64_t> shape;
  Numbers numbers;
  const auto text = [](const std::vector<std::int64_t>& sizes) {
    std::string joined;
    for (const std::int64_t size : sizes) joined += (joined.empty() ? "" : " x ") + std::to_string(size);
    return joined;
  };
  const bool is_regular = flatten(value, 0, shape, numbers);
  require(is_regular && shape == wanted, schema::ErrorCode::kBadData, "{}: {} must be {} numbers{}", kName, name,
          text(wanted), is_regular ? ", is " + text(shape) : "");
  return numbers;
}

class GaussianRule final : public MixtureRule {
 public:
  GaussianRule(const P& params, std::int64_t d, const Numbers& mean)
      : params_(params), kind_(covariance_kind(params.covariance_type)), d_(d) {
    const std::int64_t n = params.n_components;
    if (!params.weights_init.is_null()) weights_ = given("weights_init", params.weights_init, {n});
    if (!params.means_init.is_null()) means_ = given("means_init", params.means_init, {n, d});
    for (std::size_t e = 0; e < means_.size(); ++e) means_[e] -= mean[e % mean.size()];
    if (params.precisions_init.is_null()) return;
    const std::vector<std::int64_t> shape = kind_ == CovarianceKind::kFull   ? std::vector<std::int64_t>{n, d, d}
                                            : kind_ == CovarianceKind::kTied ? std::vector<std::int64_t>{d, d}
                                            : kind_ == CovarianceKind::kDiag ? std::vector<std::int64_t>{n, d}
                                                                             : std::vector<std::int64_t>{n};
    factors_ = factors_of_precisions(kName, kind_, n, d, given("precisions_init", params.precisions_init, shape));
  }

  bool has_all_starts() const override { return !weights_.empty() && !means_.empty() && !factors_.empty(); }

  MixtureState maximise(const MixtureMoments& moments, std::optional<std::int64_t> n_rows) const override {
    MixtureState state{.weights = moments.counts, .means = moments.means, .covariances = moments.covariances};
    const double total =
        n_rows ? static_cast<double>(*n_rows) : std::accumulate(moments.counts.begin(), moments.counts.end(), 0.0);
    for (double& weight : state.weights) weight /= total;
    if (n_rows && !weights_.empty()) state.weights = weights_;
    if (n_rows && !means_.empty()) state.means = means_;
    if (n_rows && !factors_.empty()) {
      state.factors = factors_;
      state.covariances = inverse_squares();
    } else {
      state.factors = precision_factors(kName, kind_, params_.n_components, d_, moments.covariances, params_.reg_covar);
    }
    return state;
  }

  Numbers log_weights(const MixtureState& state) const override {
    Numbers logs;
    for (const double weight : state.weights)   // a weight of 0 stays a number, which no row prefers
      logs.push_back(std::log(std::max(weight, std::numeric_limits<double>::min())));
    return logs;
  }

  double lower_bound(const MixtureState&, const MixtureLikelihood& likelihood) const override {
    return likelihood.log_density;
  }

 private:
  // The covariances of given precisions, which a fit without iterations keeps.
  Numbers inverse_squares() const {
    const Numbers precisions = precisions_of(kind_, params_.n_components, d_, factors_);
    const Numbers roots = precision_factors(kName, kind_, params_.n_components, d_, precisions, 0);
    return precisions_of(kind_, params_.n_components, d_, roots);
  }

  const P& params_;
  CovarianceKind kind_;
  std::int64_t d_;
  Numbers weights_, means_, factors_;   // given starts, or empty
};

}   // namespace

template <class T>
GaussianMixture<T>::GaussianMixture(const schema::ValueMap& params) : GaussianMixture(param_set().parse(params)) {}

template <class T>
GaussianMixture<T>::GaussianMixture(const GaussianMixtureParams& params)
    : MixtureModel<T>(kName, params), params_(params) {
  const auto weights = numbers_of(params_.weights_init);
  if (!weights) return;
  double sum = 0;
  for (const double weight : *weights) {
    if (!(weight >= 0 && weight <= 1))
      refuse_param(kName, "weights_init", params_.weights_init, "must have numbers from 0 to 1");
    sum += weight;
  }
  if (!(std::abs(sum - 1) <= kWeightSum)) refuse_param(kName, "weights_init", params_.weights_init, "must sum to 1");
}

template <class T>
schema::EstimatorInfo GaussianMixture<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "mixture",
          .doc = "Mixture of normal distributions, by expectation maximisation.",
          .params = param_set().infos(),
          .attributes = {"weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "converged_",
                         "n_iter_", "lower_bound_", "lower_bounds_"},
          .deviations = {"Rows are centred first and everything is computed in float64, so that offsets and float32 "
                         "cost no digits.",
                         "warm_start is ignored: every fit starts anew. sample, aic and bic are not offered."}};
}

template <class T>
std::unique_ptr<MixtureRule> GaussianMixture<T>::rule(const Context&, MatrixView<const double> X,
                                                      const std::vector<double>& mean, MixtureRows&) {
  return std::make_unique<GaussianRule>(params_, X.cols, mean);
}

template class GaussianMixture<float>;
template class GaussianMixture<double>;

}   // namespace kedge::engine
