// LinearDiscriminantAnalysis: three ways to the same rule, by singular values, by least squares, and by eigenvectors.
#include "engine/estimators/discriminant/discriminant_analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using P = LinearDiscriminantAnalysisParams;
constexpr const char* kName = "LinearDiscriminantAnalysis";
constexpr double kPriorSumTolerance = 1e-5;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("solver", &P::solver, {"svd", "lsqr", "eigen"},
               "svd forms no covariance; lsqr cannot transform; lsqr and eigen can shrink.")
          .any("shrinkage", &P::shrinkage, {number_form(between(0, 1)), string_form({"auto"}), null_form()},
               "Share by which covariances are pulled towards a multiple of the unit matrix; auto by Ledoit and Wolf.")
          .any("priors", &P::priors, {array_form(), null_form()},
               "Prior probabilities of the classes, in order; null takes their shares.")
          .add("n_components", &P::n_components, at_least(1), "Columns of transform; null for as many as there can be.")
          .add("store_covariance", &P::store_covariance, "Also give covariance_ with solver svd.")
          .add("tol", &P::tol, at_least(0), "Singular values up to this count as 0, with solver svd.")
          .ignore("covariance_estimator", nullptr, {null_form()});
  return set;
}

Shrinkage shrinkage_of(const schema::Value& value) {
  const double* share = std::get_if<double>(&value.data);
  return {.is_automatic = std::holds_alternative<std::string>(value.data), .share = share ? *share : 0.0};
}

std::int64_t count_above(const std::vector<double>& descending, double bound) {
  return std::count_if(descending.begin(), descending.end(), [=](double s) { return s > bound; });
}

// A symmetric matrix's eigenvectors as rows, and values, ascending.
struct Eigen {
  std::vector<double> values, vectors;
};
Eigen eigen_of(const Context& ctx, std::span<const double> A, std::int64_t d) {
  Matrix<double> vectors(ctx.memory(), d, d, A);
  Array<double> values(ctx.memory(), d);
  ctx.ops<double>().factorise->eigh(vectors.view(), values.view());
  return {values.to_host(), vectors.to_host()};
}

}  // namespace

template <class T>
LinearDiscriminantAnalysis<T>::LinearDiscriminantAnalysis(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (params_.solver == "svd" && !params_.shrinkage.is_null())
    refuse_param(kName, "shrinkage", params_.shrinkage, "must be null for solver svd, which forms no covariance");
  const auto priors = numbers_of(params_.priors);
  if (priors && std::any_of(priors->begin(), priors->end(), [](double p) { return !(p >= 0); }))
    refuse_param(kName, "priors", params_.priors, "must not have negative numbers");
}

template <class T>
schema::EstimatorInfo LinearDiscriminantAnalysis<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "discriminant_analysis",
          .doc =
              "Linear discriminant analysis: normal distributions with a common covariance; also projects onto what separates "
              "the classes.",
          .params = param_set().infos(),
          .attributes = {"classes_", "coef_", "intercept_", "means_", "priors_", "xbar_", "scalings_",
                         "explained_variance_ratio_", "covariance_"},
          .deviations = {"covariance_estimator must be null: it is an object in scikit-learn.",
                         "A target with a single class is refused."}};
}

template <class T>
void LinearDiscriminantAnalysis<T>::set_priors(const Context& ctx, const Target& y) {
  priors_.assign(present_.codes.size(), 0.0);
  const auto priors = numbers_of(params_.priors);
  if (priors && priors->size() != y.classes.size())
    refuse_param(kName, "priors", params_.priors,
                 "must have one number for each of the " + std::to_string(y.classes.size()) + " classes of the data");
  for (std::size_t c = 0; c < priors_.size(); ++c)
    priors_[c] = priors ? (*priors)[static_cast<std::size_t>(present_.codes[c])]
                        : static_cast<double>(present_.counts[c]) / static_cast<double>(y.codes.size());
  const double sum = std::accumulate(priors_.begin(), priors_.end(), 0.0);
  require(sum > 0, schema::ErrorCode::kBadData, "{}: the priors of all classes in the rows are 0", kName);
  if (std::abs(sum - 1) <= kPriorSumTolerance) return;
  if (priors && present_.size() == present_.n_all())
    ctx.warn(std::string(kName) + ": the priors do not sum to 1; they are divided by their sum");
  for (double& p : priors_) p /= sum;
}

template <class T>
void LinearDiscriminantAnalysis<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  present_ = PresentClasses(ctx, y);
  const std::int64_t k = present_.size(), d = n_features_ = X.n_cols();
  require(k >= 2, schema::ErrorCode::kBadData, "{}: the target has {} class, needs at least 2", kName, k);
  require(X.n_rows() > k, schema::ErrorCode::kBadData, "{}: got {} rows and {} classes, needs more rows than classes", kName,
          X.n_rows(), k);
  const std::int64_t most = std::min(k - 1, d);
  n_components_ = params_.n_components.value_or(most);
  require(n_components_ <= most, schema::ErrorCode::kBadData,
          "{}: n_components is {}, must be at most {}, the smaller of {} columns and {} classes less one", kName, n_components_,
          most, d, k);
  set_priors(ctx, y);
  const ClassScatter<T> scatter(ctx, X, present_, y);
  means_ = scatter.means();
  xbar_.clear(), covariance_.clear(), scalings_.clear(), explained_variance_ratio_.clear();
  n_scalings_ = 0;
  if (params_.solver != "svd" || params_.store_covariance) {
    covariance_.assign(static_cast<std::size_t>(d * d), 0.0);
    for (std::int32_t c = 0; c < k; ++c) {
      const std::vector<double> own = scatter.covariance(ctx, c, shrinkage_of(params_.shrinkage));
      for (std::size_t e = 0; e < own.size(); ++e) covariance_[e] += priors_[static_cast<std::size_t>(c)] * own[e];
    }
  }
  if (params_.solver == "svd")
    solve_svd(ctx, scatter);
  else if (params_.solver == "lsqr")
    solve_lsqr(ctx);
  else
    solve_eigen(ctx, scatter);
}

// Columns are divided by their spread, then rotated and divided so that the classes scatter equally in every direction;
// what separates the means there is found by a second decomposition.
template <class T>
void LinearDiscriminantAnalysis<T>::solve_svd(const Context& ctx, const ClassScatter<T>& scatter) {
  const std::int64_t d = n_features_, k = present_.size();
  const double n = static_cast<double>(scatter.n_rows());
  std::vector<double> scale(static_cast<std::size_t>(d)), deviation(static_cast<std::size_t>(d));
  for (std::size_t j = 0; j < scale.size(); ++j) {
    deviation[j] = scatter.spread()[j] > 0 ? scatter.spread()[j] : 1.0;
    scale[j] = 1 / (deviation[j] * std::sqrt(n));
  }
  const Decomposition within = decompose(ctx, scatter.within_triangle(ctx, scale), d, d);
  const std::int64_t rank = count_above(within.s, params_.tol);
  std::vector<double> whiten(within.Vt.begin(), within.Vt.begin() + rank * d);  // rank x d
  for (std::size_t e = 0; e < whiten.size(); ++e)
    whiten[e] /= deviation[e % static_cast<std::size_t>(d)] * within.s[e / static_cast<std::size_t>(d)];

  xbar_.assign(static_cast<std::size_t>(d), 0.0);
  for (std::size_t e = 0; e < means_.size(); ++e) xbar_[e % xbar_.size()] += priors_[e / xbar_.size()] * means_[e];
  std::vector<double> offsets = means_;  // of the means from their centre
  for (std::size_t e = 0; e < offsets.size(); ++e) offsets[e] -= xbar_[e % xbar_.size()];
  coef_.assign(offsets.size(), 0.0), intercept_.assign(priors_.size(), 0.0);
  explained_variance_ratio_.assign(rank == 0 ? 0 : static_cast<std::size_t>(std::min({n_components_, k, rank})), 0.0);
  if (rank > 0) {
    std::vector<double> between = host_product(ctx, offsets, d, false, whiten, d, true);  // k x rank
    for (std::size_t e = 0; e < between.size(); ++e)
      between[e] *= std::sqrt(n * priors_[e / static_cast<std::size_t>(rank)] / static_cast<double>(k - 1));
    const Decomposition found = decompose(ctx, between, k, rank);
    double total = 0;
    for (const double s : found.s) total += s * s;
    for (std::size_t i = 0; i < explained_variance_ratio_.size() && total > 0; ++i)
      explained_variance_ratio_[i] = found.s[i] * found.s[i] / total;
    n_scalings_ = count_above(found.s, params_.tol * found.s[0]);
    if (n_scalings_ > 0) {
      scalings_ =
          host_product(ctx, {found.Vt.data(), static_cast<std::size_t>(n_scalings_ * rank)}, rank, false, whiten, d, false);
      const std::vector<double> projected = host_product(ctx, offsets, d, false, scalings_, d, true);  // k x n_scalings_
      coef_ = host_product(ctx, projected, n_scalings_, false, scalings_, d, false);
      for (std::size_t e = 0; e < projected.size(); ++e)
        intercept_[e / static_cast<std::size_t>(n_scalings_)] -= projected[e] * projected[e] / 2;
    }
  }
  for (std::size_t c = 0; c < intercept_.size(); ++c) {
    intercept_[c] += std::log(priors_[c]);
    for (std::size_t j = 0; j < xbar_.size(); ++j) intercept_[c] -= xbar_[j] * coef_[c * xbar_.size() + j];
  }
}

// -mean . coef / 2 + log prior: of a class whose coef is the inverse covariance times its mean.
template <class T>
void LinearDiscriminantAnalysis<T>::set_intercepts() {
  intercept_.clear();
  const auto d = static_cast<std::size_t>(n_features_);
  for (std::size_t c = 0; c < priors_.size(); ++c) {
    double product = 0;
    for (std::size_t j = 0; j < d; ++j) product += means_[c * d + j] * coef_[c * d + j];
    intercept_.push_back(std::log(priors_[c]) - product / 2);
  }
}

// coef = pseudo-inverse of the covariance times the means.
template <class T>
void LinearDiscriminantAnalysis<T>::solve_lsqr(const Context& ctx) {
  const std::int64_t d = n_features_;
  const Decomposition found = decompose(ctx, covariance_, d, d);
  const std::int64_t rank = count_above(found.s, std::numeric_limits<double>::epsilon() * found.s[0]);
  coef_.assign(means_.size(), 0.0);
  if (rank > 0) {
    std::vector<double> left(static_cast<std::size_t>(d * rank));  // the leading columns of U
    for (std::int64_t i = 0; i < d; ++i) std::copy_n(found.U.begin() + i * d, rank, left.begin() + i * rank);
    std::vector<double> along = host_product(ctx, means_, d, false, left, rank, false);  // k x rank
    for (std::size_t e = 0; e < along.size(); ++e) along[e] /= found.s[e % static_cast<std::size_t>(rank)];
    coef_ = host_product(ctx, along, rank, false, {found.Vt.data(), static_cast<std::size_t>(rank * d)}, d, false);
  }
  set_intercepts();
}

// Eigenvectors of the scatter between the classes, where the scatter within them has been made round. For that its columns are brought
// to variances around 1 first, by powers of two: columns of other sizes would lose the small eigenvalues in the rounding of the large.
template <class T>
void LinearDiscriminantAnalysis<T>::solve_eigen(const Context& ctx, const ClassScatter<T>& scatter) {
  const std::int64_t d = n_features_;
  const auto width = static_cast<std::size_t>(d);
  std::vector<double> scale(width, 1.0), scaled = covariance_;
  for (std::size_t j = 0; j < width; ++j)
    if (const double variance = covariance_[j * width + j]; variance > 0) scale[j] = std::exp2(-std::round(std::log2(variance) / 2));
  for (std::size_t e = 0; e < scaled.size(); ++e) scaled[e] = scaled[e] * scale[e / width] * scale[e % width];
  Eigen within = eigen_of(ctx, scaled, d);
  require(within.values[0] > std::numeric_limits<double>::epsilon() * within.values.back(), schema::ErrorCode::kBadData,
          "{}: the covariance within the classes is singular (eigenvalues {:.3g} to {:.3g} of columns with variances around 1), which "
          "solver eigen cannot take: set shrinkage, or take solver svd",
          kName, within.values[0], within.values.back());
  for (std::size_t e = 0; e < within.vectors.size(); ++e) within.vectors[e] *= scale[e % width] / std::sqrt(within.values[e / width]);
  std::vector<double> between = scatter.total_covariance(ctx, shrinkage_of(params_.shrinkage));
  for (std::size_t e = 0; e < between.size(); ++e) between[e] -= covariance_[e];
  const std::vector<double> half = host_product(ctx, within.vectors, d, false, between, d, false);
  std::vector<double> round = host_product(ctx, half, d, false, within.vectors, d, true);
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < i; ++j) round[static_cast<std::size_t>(j * d + i)] = round[static_cast<std::size_t>(i * d + j)];
  const Eigen found = eigen_of(ctx, round, d);
  const std::vector<double> ascending = host_product(ctx, found.vectors, d, false, within.vectors, d, false);
  n_scalings_ = d;
  for (std::int64_t i = d; i-- > 0;)
    scalings_.insert(scalings_.end(), ascending.begin() + i * d, ascending.begin() + (i + 1) * d);
  const double total = std::accumulate(found.values.begin(), found.values.end(), 0.0);
  for (std::int64_t i = 0; i < n_components_; ++i)
    explained_variance_ratio_.push_back(total != 0 ? found.values[static_cast<std::size_t>(d - 1 - i)] / total : 0.0);
  const std::vector<double> projected = host_product(ctx, means_, d, false, scalings_, d, true);
  coef_ = host_product(ctx, projected, d, false, scalings_, d, false);
  set_intercepts();
}

template <class T>
Matrix<double> LinearDiscriminantAnalysis<T>::scores(const Context& ctx, const Samples<T>& X) const {
  if (present_.size() > 0) require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  return linear_values(ctx, X, coef_, intercept_);
}

template <class T>
void LinearDiscriminantAnalysis<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<double> Z = scores(ctx, X);
  spread_scores(ctx, present_, Z.view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
void LinearDiscriminantAnalysis<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                                      MatrixView<double> decision) const {
  const Matrix<double> Z = scores(ctx, X);
  spread_decision(ctx, present_, Z.view(), decision);
}

template <class T>
Samples<T> LinearDiscriminantAnalysis<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require(params_.solver != "lsqr", schema::ErrorCode::kInvalidValue, "{}: solver lsqr cannot transform; take svd or eigen",
          kName);
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t count = std::min(n_components_, n_scalings_);
  const std::vector<double> centre = xbar_.empty() ? std::vector<double>(static_cast<std::size_t>(n_features_), 0.0) : xbar_;
  return project<T>(ctx, X, centre, std::vector<T>(scalings_.begin(), scalings_.begin() + count * n_features_));
}

template <class T>
schema::ValueMap LinearDiscriminantAnalysis<T>::attributes() const {
  std::vector<double> coef = coef_, intercept = intercept_;
  if (present_.size() == 2) {  // the second class against the first
    const auto d = static_cast<std::size_t>(n_features_);
    for (std::size_t j = 0; j < d; ++j) coef[j] = coef_[d + j] - coef_[j];
    coef.resize(d), intercept = {intercept_[1] - intercept_[0]};
  }
  schema::ValueMap attributes{{"classes_", present_.names_value()},
                              {"coef_", rows_value(coef, n_features_)},
                              {"intercept_", intercept},
                              {"means_", rows_value(means_, n_features_)},
                              {"priors_", priors_}};
  if (!xbar_.empty()) attributes.emplace_back("xbar_", xbar_);
  if (!covariance_.empty()) attributes.emplace_back("covariance_", rows_value(covariance_, n_features_));
  if (params_.solver == "lsqr") return attributes;
  std::vector<double> columns(scalings_.size());  // as scikit-learn: a projection a column
  for (std::int64_t i = 0; i < n_scalings_; ++i)
    for (std::int64_t j = 0; j < n_features_; ++j)
      columns[static_cast<std::size_t>(j * n_scalings_ + i)] = scalings_[static_cast<std::size_t>(i * n_features_ + j)];
  attributes.emplace_back("scalings_", rows_value(columns, n_scalings_));
  attributes.emplace_back("explained_variance_ratio_", explained_variance_ratio_);
  return attributes;
}

template <class T>
void LinearDiscriminantAnalysis<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  const std::int64_t d = n_features_, k = present_.size();
  archive.number("n_components", n_components_, 0, kMaxSize);
  archive.number("n_scalings", n_scalings_, 0, kMaxSize);
  archive.field("priors", priors_, k);
  archive.field("means", means_, k, d);
  archive.field("coef", coef_, k, d);
  archive.field("intercept", intercept_, k);
  archive.field("xbar", xbar_, kAnySize);
  archive.expect(xbar_.empty() || static_cast<std::int64_t>(xbar_.size()) == d, "xbar", "has another size than there are columns");
  archive.field("covariance", covariance_, kAnySize, d);
  archive.field("scalings", scalings_, n_scalings_, d);
  archive.field("explained_variance_ratio", explained_variance_ratio_, kAnySize);
}

template class LinearDiscriminantAnalysis<float>;
template class LinearDiscriminantAnalysis<double>;

}  // namespace kedge::engine
