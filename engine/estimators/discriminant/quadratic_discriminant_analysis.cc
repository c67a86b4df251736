// QuadraticDiscriminantAnalysis: axes and variances of each class, and the distances along them.
#include "engine/estimators/discriminant/quadratic_discriminant_analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using P = QuadraticDiscriminantAnalysisParams;
constexpr const char* kName = "QuadraticDiscriminantAnalysis";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("solver", &P::solver, {"svd", "eigen"}, "svd forms no covariance; eigen can shrink.")
          .any("shrinkage", &P::shrinkage, {number_form(between(0, 1)), string_form({"auto"}), null_form()},
               "Share by which covariances are pulled towards a multiple of the unit matrix; auto by Ledoit and Wolf.")
          .any("priors", &P::priors, {array_form(), null_form()},
               "Prior probabilities of the classes, in order; null takes their shares.")
          .add("reg_param", &P::reg_param, between(0, 1), "Share by which variances are pulled towards 1, with solver svd.")
          .add("store_covariance", &P::store_covariance, "Also give covariance_.")
          .add("tol", &P::tol, at_least(0), "Variances up to this count as 0.")
          .ignore("covariance_estimator", nullptr, {null_form()});
  return set;
}

}  // namespace

template <class T>
QuadraticDiscriminantAnalysis<T>::QuadraticDiscriminantAnalysis(const schema::ValueMap& params)
    : params_(param_set().parse(params)) {
  if (params_.solver == "svd" && !params_.shrinkage.is_null())
    refuse_param(kName, "shrinkage", params_.shrinkage, "must be null for solver svd, which forms no covariance");
  const auto priors = numbers_of(params_.priors);
  if (priors && std::any_of(priors->begin(), priors->end(), [](double p) { return !(p >= 0); }))
    refuse_param(kName, "priors", params_.priors, "must not have negative numbers");
}

template <class T>
schema::EstimatorInfo QuadraticDiscriminantAnalysis<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "discriminant_analysis",
          .doc = "Quadratic discriminant analysis: a normal distribution with its own covariance for each class.",
          .params = param_set().infos(),
          .attributes = {"classes_", "means_", "priors_", "scalings_", "rotations_", "covariance_"},
          .deviations = {"covariance_estimator must be null: it is an object in scikit-learn."}};
}

template <class T>
typename QuadraticDiscriminantAnalysis<T>::Shape QuadraticDiscriminantAnalysis<T>::by_svd(const Context& ctx,
                                                                                          const ClassScatter<T>& scatter,
                                                                                          std::int32_t position) const {
  const std::int64_t d = n_features_;
  Decomposition found = decompose(ctx, scatter.class_triangle(ctx, position), d, d);
  Shape shape{.scalings = std::move(found.s), .axes = std::move(found.Vt), .covariance = {}};
  for (double& s : shape.scalings)
    s = (1 - params_.reg_param) * s * s / static_cast<double>(scatter.n_rows(position)) + params_.reg_param;
  if (!params_.store_covariance) return shape;
  std::vector<double> scaled = shape.axes;
  for (std::size_t e = 0; e < scaled.size(); ++e) scaled[e] *= shape.scalings[e / static_cast<std::size_t>(d)];
  shape.covariance = host_product(ctx, shape.axes, d, true, scaled, d, false);
  return shape;
}

template <class T>
typename QuadraticDiscriminantAnalysis<T>::Shape QuadraticDiscriminantAnalysis<T>::by_eigen(const Context& ctx,
                                                                                            const ClassScatter<T>& scatter,
                                                                                            std::int32_t position) const {
  const std::int64_t d = n_features_;
  const double* share = std::get_if<double>(&params_.shrinkage.data);
  Shape shape;
  shape.covariance = scatter.covariance(
      ctx, position,
      {.is_automatic = std::holds_alternative<std::string>(params_.shrinkage.data), .share = share ? *share : 0.0});
  Matrix<double> vectors(ctx.memory(), d, d, shape.covariance);
  Array<double> values(ctx.memory(), d);
  ctx.ops<double>().factorise->eigh(vectors.view(), values.view());
  const std::vector<double> ascending = values.to_host(), rows = vectors.to_host();
  for (std::int64_t i = d; i-- > 0;) {
    shape.scalings.push_back(ascending[static_cast<std::size_t>(i)]);
    shape.axes.insert(shape.axes.end(), rows.begin() + i * d, rows.begin() + (i + 1) * d);
  }
  return shape;
}

template <class T>
void QuadraticDiscriminantAnalysis<T>::require_full_rank(const Shape& shape, std::int32_t position) const {
  const auto rank = std::count_if(shape.scalings.begin(), shape.scalings.end(), [&](double s) { return s > params_.tol; });
  require(rank == n_features_, schema::ErrorCode::kBadData,
          "{}: the covariance of class \"{}\" ({} rows) has rank {}, must have that of the {} columns: raise {}", kName,
          present_.names[static_cast<std::size_t>(position)], present_.counts[static_cast<std::size_t>(position)], rank,
          n_features_, params_.solver == "svd" ? "reg_param" : "shrinkage");
}

template <class T>
void QuadraticDiscriminantAnalysis<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  present_ = PresentClasses(ctx, y);
  n_features_ = X.n_cols();
  require(present_.size() >= 2, schema::ErrorCode::kBadData, "{}: the target has {} class, needs at least 2", kName,
          present_.size());
  const auto priors = numbers_of(params_.priors);
  if (priors && priors->size() != y.classes.size())
    refuse_param(kName, "priors", params_.priors,
                 "must have one number for each of the " + std::to_string(y.classes.size()) + " classes of the data");
  priors_.clear(), shapes_.clear();
  for (std::size_t c = 0; c < present_.codes.size(); ++c) {
    priors_.push_back(priors ? (*priors)[static_cast<std::size_t>(present_.codes[c])]
                             : static_cast<double>(present_.counts[c]) / static_cast<double>(y.codes.size()));
    require(present_.counts[c] >= 2, schema::ErrorCode::kBadData, "{}: class \"{}\" has 1 row, needs at least 2", kName,
            present_.names[c]);
  }
  const ClassScatter<T> scatter(ctx, X, present_, y);
  means_ = scatter.means();
  for (std::int32_t c = 0; c < present_.size(); ++c) {
    ctx.check_stop();
    shapes_.push_back(params_.solver == "svd" ? by_svd(ctx, scatter, c) : by_eigen(ctx, scatter, c));
    require_full_rank(shapes_.back(), c);
  }
}

// -(squared distance along the axes + sum of log variances) / 2 + log prior.
template <class T>
Matrix<double> QuadraticDiscriminantAnalysis<T>::scores(const Context& ctx, const Samples<T>& X) const {
  if (present_.size() > 0) require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t n = X.n_rows(), d = n_features_, k = present_.size();
  std::vector<double> host(static_cast<std::size_t>(n * k));
  Array<double> norms(ctx.memory(), n);
  const std::vector<double> ones(static_cast<std::size_t>(d), 1.0), zeros(static_cast<std::size_t>(d), 0.0);
  for (std::int64_t c = 0; c < k; ++c) {
    const Shape& shape = shapes_[static_cast<std::size_t>(c)];
    std::vector<double> axes = shape.axes;
    double constant = std::log(priors_[static_cast<std::size_t>(c)]);
    for (std::size_t e = 0; e < axes.size(); ++e) axes[e] /= std::sqrt(shape.scalings[e / static_cast<std::size_t>(d)]);
    for (const double s : shape.scalings) constant -= std::log(s) / 2;
    const Samples<T> centred = X.then({means_.begin() + c * d, means_.begin() + (c + 1) * d}, ones);
    const Matrix<double> along = linear_values(ctx, centred, axes, zeros);
    ctx.ops<double>().rows->row_squared_norms(along.view(), norms.view());
    const std::vector<double> squared = norms.to_host();
    for (std::int64_t i = 0; i < n; ++i)
      host[static_cast<std::size_t>(i * k + c)] = constant - squared[static_cast<std::size_t>(i)] / 2;
  }
  return Matrix<double>(ctx.memory(), n, k, host);
}

template <class T>
void QuadraticDiscriminantAnalysis<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<double> Z = scores(ctx, X);
  spread_scores(ctx, present_, Z.view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
void QuadraticDiscriminantAnalysis<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                                         MatrixView<double> decision) const {
  const Matrix<double> Z = scores(ctx, X);
  spread_decision(ctx, present_, Z.view(), decision);
}

template <class T>
schema::ValueMap QuadraticDiscriminantAnalysis<T>::attributes() const {
  schema::ValueList scalings, rotations, covariances;
  const auto d = static_cast<std::size_t>(n_features_);
  for (const Shape& shape : shapes_) {
    scalings.emplace_back(shape.scalings);
    std::vector<double> columns(shape.axes.size());  // as scikit-learn: an axis a column
    for (std::size_t e = 0; e < columns.size(); ++e) columns[e % d * d + e / d] = shape.axes[e];
    rotations.push_back(rows_value(columns, n_features_));
    if (params_.store_covariance) covariances.push_back(rows_value(shape.covariance, n_features_));
  }
  schema::ValueMap attributes{{"classes_", present_.names_value()},
                              {"means_", rows_value(means_, n_features_)},
                              {"priors_", priors_},
                              {"scalings_", scalings},
                              {"rotations_", rotations}};
  if (params_.store_covariance) attributes.emplace_back("covariance_", covariances);
  return attributes;
}

template <class T>
void QuadraticDiscriminantAnalysis<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  archive.field("priors", priors_, present_.size());
  archive.field("means", means_, present_.size(), n_features_);
  archive.list("shapes", shapes_, [&](Shape& shape) {
    archive.field("scalings", shape.scalings, n_features_);
    archive.field("axes", shape.axes, n_features_, n_features_);
    archive.field("covariance", shape.covariance, kAnySize, n_features_);
  });
  archive.expect(static_cast<std::int32_t>(shapes_.size()) == present_.size(), "shapes", "is not one for each class");
}

template class QuadraticDiscriminantAnalysis<float>;
template class QuadraticDiscriminantAnalysis<double>;

}  // namespace kedge::engine
