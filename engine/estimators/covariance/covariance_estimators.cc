// Covariance matrices with and without shrinkage, and their inverses.
#include "engine/estimators/covariance/covariance_estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/covariance/shrinkage.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;

template <class P>
ParamSet<P>& add_shared(ParamSet<P>& set) {
  return set.add("store_precision", &P::store_precision, "Whether the inverse of the covariance is kept.")
      .add("assume_centered", &P::assume_centered, "Whether the means of the columns are taken for 0.");
}

ParamSet<CovarianceParams> plain_set(const char* name) {
  ParamSet<CovarianceParams> made(name);
  return add_shared(made);
}

const ParamSet<CovarianceParams>& empirical_set() {
  static const ParamSet<CovarianceParams> set = plain_set("EmpiricalCovariance");
  return set;
}

const ParamSet<CovarianceParams>& oas_set() {
  static const ParamSet<CovarianceParams> set = plain_set("OAS");
  return set;
}

const ParamSet<CovarianceParams>& ledoit_wolf_set() {
  static const ParamSet<CovarianceParams> set =
      plain_set("LedoitWolf").ignore("block_size", 1000, {integer_form(at_least(1))});
  return set;
}

const ParamSet<ShrunkCovarianceParams>& shrunk_set() {
  static const ParamSet<ShrunkCovarianceParams> set = [] {
    ParamSet<ShrunkCovarianceParams> made("ShrunkCovariance");
    return add_shared(made).add("shrinkage", &ShrunkCovarianceParams::shrinkage, between(0, 1),
                                "Share of the multiple of the unit matrix.");
  }();
  return set;
}

schema::EstimatorInfo covariance_info(const char* name, const char* doc, std::vector<schema::ParamInfo> params,
                                      bool has_shrinkage) {
  std::vector<std::string> attributes{"location_", "covariance_", "precision_"};
  if (has_shrinkage) attributes.emplace_back("shrinkage_");
  return {.name = name,
          .kind = "covariance",
          .family = "covariance",
          .doc = doc,
          .params = std::move(params),
          .attributes = std::move(attributes),
          .deviations = {"Rows are centred and summed in float64. score, error_norm and mahalanobis are not offered."}};
}

// Eigenvectors of S, row by row, into `vectors`; returns the inverses of their eigenvalues, 0 for what is rounding.
Numbers inverse_spectrum(const Context& ctx, Matrix<double>& vectors) {
  const std::int64_t d = vectors.rows();
  Array<double> values(ctx.memory(), d);
  ctx.ops<double>().factorise->eigh(vectors.view(), values.view());
  Numbers scale = values.to_host();
  double largest = 0;
  for (const double value : scale) largest = std::max(largest, std::abs(value));
  const double least = largest * static_cast<double>(d) * std::numeric_limits<double>::epsilon();
  for (double& value : scale) value = std::abs(value) > least ? 1 / value : 0;
  return scale;
}

}   // namespace

Numbers symmetric_inverse_factor(const Context& ctx, const Numbers& S, std::int64_t d) {
  Matrix<double> vectors(ctx.memory(), d, d, S);
  Numbers scale = inverse_spectrum(ctx, vectors);
  for (double& value : scale) value = std::sqrt(std::max(value, 0.0));
  const Matrix<double> factor(ctx.memory(), d, 1, scale);
  ctx.ops<double>().maps->combine(Binary::kMultiply, std::as_const(vectors).view(), factor.view(), vectors.view());
  return vectors.to_host();
}

Numbers symmetric_inverse(const Context& ctx, const Numbers& S, std::int64_t d) {
  Matrix<double> vectors(ctx.memory(), d, d, S), inverse(ctx.memory(), d, d);
  Backend<double>& ops = ctx.ops<double>();
  const Numbers scale = inverse_spectrum(ctx, vectors);
  const Matrix<double> factor(ctx.memory(), d, 1, scale);
  Matrix<double> scaled(ctx.memory(), d, d);
  ops.maps->combine(Binary::kMultiply, std::as_const(vectors).view(), factor.view(), scaled.view());
  ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, std::as_const(vectors).view(), std::as_const(scaled).view(),
                   0.0, inverse.view());
  return inverse.to_host();
}

template <class T>
void CovarianceModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(name_, X);
  ctx.check_stop();
  if (X.n_rows() == 1) ctx.warn(fmt::format("{}: there is only one row", name_));
  const std::int64_t d = n_features_ = X.n_cols();
  location_ = shared_.assume_centered ? Numbers(static_cast<std::size_t>(d), 0.0) : column_means(ctx, X);
  const CentredDesign<T> centred(ctx, X, location_);
  Matrix<double> G(ctx.memory(), d, d);
  ctx.ops<T>().design->gram(centred.design, G.view());
  covariance_ = G.to_host();
  for (double& value : covariance_) value /= static_cast<double>(X.n_rows());
  finish(ctx, centred.design, covariance_);
  for (const double value : covariance_)
    require(std::isfinite(value), schema::ErrorCode::kBadData,
            "{}: the covariance leaves double precision; scale the columns", name_);
  precision_ = shared_.store_precision ? symmetric_inverse(ctx, covariance_, d) : Numbers();
}

template <class T>
schema::ValueMap CovarianceModel<T>::attributes() const {
  return {{"location_", location_},
          {"covariance_", rows_value(covariance_, n_features_)},
          {"precision_", shared_.store_precision ? rows_value(precision_, n_features_) : schema::Value()}};
}

template <class T>
void CovarianceModel<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  const std::int64_t d = archive.n_features();
  archive.field("location", location_, d);
  archive.field("covariance", covariance_, d, d);
  if (shared_.store_precision) archive.field("precision", precision_, d, d);
}

template <class T>
MemoryNeed CovarianceModel<T>::memory(const SampleShape& X, const schema::Step&) {
  return {.work = 8 * memory::square(X.cols) + memory::block(X)};
}

template <class T>
EmpiricalCovariance<T>::EmpiricalCovariance(const schema::ValueMap& params)
    : CovarianceModel<T>("EmpiricalCovariance", empirical_set().parse(params)) {}

template <class T>
schema::EstimatorInfo EmpiricalCovariance<T>::info() {
  return covariance_info("EmpiricalCovariance", "Covariance matrix of the rows, by maximum likelihood.",
                         empirical_set().infos(), false);
}

template <class T>
ShrunkCovariance<T>::ShrunkCovariance(const schema::ValueMap& params) : ShrunkCovariance(shrunk_set().parse(params)) {}

template <class T>
schema::EstimatorInfo ShrunkCovariance<T>::info() {
  return covariance_info("ShrunkCovariance", "Covariance matrix, pulled towards a multiple of the unit matrix.",
                         shrunk_set().infos(), false);
}

template <class T>
void ShrunkCovariance<T>::finish(const Context&, const Design<T>& design, std::vector<double>& S) {
  shrink(S, design.n_cols(), shrinkage_);
}

template <class T>
void EstimatedShrinkage<T>::finish(const Context& ctx, const Design<T>& design, std::vector<double>& S) {
  shrinkage_ = share(ctx, design, S);
  shrink(S, design.n_cols(), shrinkage_);
}

template <class T>
schema::ValueMap EstimatedShrinkage<T>::attributes() const {
  schema::ValueMap all = CovarianceModel<T>::attributes();
  all.emplace_back("shrinkage_", shrinkage_);
  return all;
}

template <class T>
void EstimatedShrinkage<T>::state(StateArchive& archive) {
  CovarianceModel<T>::state(archive);
  archive.field("shrinkage", shrinkage_);
}

template <class T>
LedoitWolf<T>::LedoitWolf(const schema::ValueMap& params)
    : EstimatedShrinkage<T>("LedoitWolf", ledoit_wolf_set().parse(params)) {}

template <class T>
schema::EstimatorInfo LedoitWolf<T>::info() {
  return covariance_info("LedoitWolf", "Covariance matrix with the shrinkage of Ledoit and Wolf.",
                         ledoit_wolf_set().infos(), true);
}

template <class T>
double LedoitWolf<T>::share(const Context& ctx, const Design<T>& design, const std::vector<double>& S) const {
  return ledoit_wolf_share(S, design.n_cols(), static_cast<double>(design.n_rows()), fourth_powers(ctx, design));
}

template <class T>
OAS<T>::OAS(const schema::ValueMap& params) : EstimatedShrinkage<T>("OAS", oas_set().parse(params)) {}

template <class T>
schema::EstimatorInfo OAS<T>::info() {
  return covariance_info("OAS", "Covariance matrix with oracle approximating shrinkage.", oas_set().infos(), true);
}

template <class T>
double OAS<T>::share(const Context&, const Design<T>& design, const std::vector<double>& S) const {
  return oas_share(S, design.n_cols(), static_cast<double>(design.n_rows()));
}

#define KEDGE_INSTANTIATE(T)             \
  template class CovarianceModel<T>;     \
  template class EstimatedShrinkage<T>;  \
  template class EmpiricalCovariance<T>; \
  template class ShrunkCovariance<T>;    \
  template class LedoitWolf<T>;          \
  template class OAS<T>;
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}   // namespace kedge::engine
