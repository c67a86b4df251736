// MinCovDet and EllipticEnvelope as estimators.
#include "engine/estimators/covariance/robust_covariance.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/covariance/covariance_estimators.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;
constexpr const char *kMinCovDet = "MinCovDet", *kEnvelope = "EllipticEnvelope";
constexpr std::int64_t kBlockRows = 8192;

template <class P>
ParamSet<P>& add_shared(ParamSet<P>& set) {
  return set.add("store_precision", &P::store_precision, "Whether the inverse of the covariance is kept.")
      .add("assume_centered", &P::assume_centered, "Whether the location is taken for 0.")
      .add(
          "support_fraction", &P::support_fraction, above_up_to(0, 1),
          "Share of the rows that the raw estimate is made of; null for the least that resists: half of them, and half "
          "of the columns more.")
      .random_state(&P::random_state);
}

const ParamSet<MinCovDetParams>& min_cov_det_set() {
  static const ParamSet<MinCovDetParams> set = [] {
    ParamSet<MinCovDetParams> made(kMinCovDet);
    return add_shared(made);
  }();
  return set;
}

const ParamSet<EllipticEnvelopeParams>& envelope_set() {
  static const ParamSet<EllipticEnvelopeParams> set = [] {
    ParamSet<EllipticEnvelopeParams> made(kEnvelope);
    return add_shared(made).add("contamination", &EllipticEnvelopeParams::contamination, above_up_to(0, 0.5),
                                "Share of the fitted rows that are outliers.");
  }();
  return set;
}

std::vector<std::string> attribute_names() {
  return {"raw_location_", "raw_covariance_", "raw_support_", "location_",
          "covariance_",   "precision_",      "support_",     "dist_"};
}

MemoryNeed robust_memory(const SampleShape& X) {
  const std::int64_t d = X.cols, estimates = (X.rows / 300 + 1) * 10;   // of the subsets
  return {.work = memory::doubles(X) + memory::block(X) +
                  bytes_of(std::min<std::int64_t>(X.rows, 1500), 3 * d, memory::kDouble) +
                  bytes_of(estimates + 16, d * (d + 1), memory::kDouble) + X.rows * 16 * memory::kDouble,
          .minimum = memory::doubles(X)};
}

std::vector<std::string> robust_deviations() {
  return {"Rows are centred first and everything is computed in float64.",
          "score, error_norm and mahalanobis are not offered."};
}

schema::Value flags(const std::vector<std::uint8_t>& mask) {
  schema::ValueList all;
  for (const std::uint8_t flag : mask) all.emplace_back(flag != 0);
  return all;
}

}   // namespace

template <class T>
void RobustFit::fit(const Context& ctx, const char* owner, const Samples<T>& X, const MinCovDetParams& params) {
  require_rows(owner, X, 2);
  ctx.check_stop();
  n_features_ = X.n_cols();
  found_ =
      fast_mcd(ctx, owner, X,
               {.assume_centered = params.assume_centered,
                .support_fraction = params.support_fraction,
                .seed = static_cast<std::uint32_t>(params.random_state.value_or(static_cast<std::int64_t>(ctx.seed)))});
}

schema::ValueMap RobustFit::attributes(bool store_precision) const {
  const std::int64_t d = n_features_;
  return {{"raw_location_", found_.raw_location},
          {"raw_covariance_", rows_value(found_.raw_covariance, d)},
          {"raw_support_", flags(found_.raw_support)},
          {"location_", found_.location},
          {"covariance_", rows_value(found_.covariance, d)},
          {"precision_", store_precision ? rows_value(found_.precision, d) : schema::Value()},
          {"support_", flags(found_.support)},
          {"dist_", found_.distances}};
}

void RobustFit::state(StateArchive& archive) {
  archive.features(n_features_);
  const std::int64_t d = archive.n_features();
  archive.field("raw_location", found_.raw_location, d);
  archive.field("raw_covariance", found_.raw_covariance, d, d);
  archive.field("location", found_.location, d);
  archive.field("covariance", found_.covariance, d, d);
  archive.field("precision", found_.precision, d, d);
  archive.field("distances", found_.distances, kAnySize);
  const auto n = static_cast<std::int64_t>(found_.distances.size());
  archive.field("raw_support", found_.raw_support, n);
  archive.field("support", found_.support, n);
}

template <class T>
MinCovDet<T>::MinCovDet(const schema::ValueMap& params) : params_(min_cov_det_set().parse(params)) {}

template <class T>
schema::EstimatorInfo MinCovDet<T>::info() {
  return {.name = kMinCovDet,
          .kind = "covariance",
          .family = "covariance",
          .doc = "Covariance matrix that outliers do not spoil, by the minimum covariance determinant.",
          .params = min_cov_det_set().infos(),
          .attributes = attribute_names(),
          .deviations = robust_deviations()};
}

template <class T>
MemoryNeed MinCovDet<T>::memory(const SampleShape& X, const schema::Step&) {
  return robust_memory(X);
}

template <class T>
void MinCovDet<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  fit_.fit(ctx, kMinCovDet, X, params_);
}

template <class T>
EllipticEnvelope<T>::EllipticEnvelope(const schema::ValueMap& params) : params_(envelope_set().parse(params)) {}

template <class T>
schema::EstimatorInfo EllipticEnvelope<T>::info() {
  std::vector<std::string> attributes = attribute_names();
  attributes.emplace_back("offset_");
  return {.name = kEnvelope,
          .kind = "detector",
          .family = "covariance",
          .doc = "Outliers of normal data, by a covariance matrix that they do not spoil.",
          .params = envelope_set().infos(),
          .attributes = std::move(attributes),
          .deviations = robust_deviations()};
}

template <class T>
MemoryNeed EllipticEnvelope<T>::memory(const SampleShape& X, const schema::Step&) {
  return robust_memory(X);
}

template <class T>
void EllipticEnvelope<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  fit_.fit(ctx, kEnvelope, X, params_);
  Numbers usual = fit_.found().distances;
  for (double& distance : usual) distance = -distance;
  const Matrix<double> scores(ctx.memory(), X.n_rows(), 1, usual);
  this->offset_ = score_quantile(ctx, scores.view(), params_.contamination);
}

template <class T>
Matrix<double> EllipticEnvelope<T>::scores(const Context& ctx, const Samples<T>& X) const {
  const std::int64_t n = X.n_rows(), d = fit_.n_features(), step = std::max(kBlockRows, block_rows(ctx, 1, d));
  require_fitted_columns(kEnvelope, X, static_cast<std::size_t>(d));
  const CentredDesign<T> centred(ctx, X, fit_.found().location);
  const Matrix<double> factor(ctx.memory(), d, d, symmetric_inverse_factor(ctx, fit_.found().covariance, d)),
      minus(ctx.memory(), 1, 1, Numbers{-1.0});
  Matrix<double> out(ctx.memory(), n, 1), values(ctx.memory(), std::min(step, n), d),
      turned(ctx.memory(), std::min(step, n), d);
  Backend<double>& ops = ctx.ops<double>();
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, n - first);
    const MatrixView<double> rows = values.view().row_range(0, count), to = turned.view().row_range(0, count);
    ctx.ops<T>().design->gather(centred.design, first, rows);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, factor.view(), 0.0, to);
    ops.rows->row_squared_norms(to, {out.data() + first, count});
  }
  ops.maps->combine(Binary::kMultiply, std::as_const(out).view(), minus.view(), out.view());
  return out;
}

template <class T>
schema::ValueMap EllipticEnvelope<T>::attributes() const {
  schema::ValueMap all = fit_.attributes(params_.store_precision);
  all.emplace_back("offset_", this->offset_);
  return all;
}

template <class T>
void EllipticEnvelope<T>::state(StateArchive& archive) {
  fit_.state(archive);
  archive.field("offset", this->offset_);
}

template class MinCovDet<float>;
template class MinCovDet<double>;
template class EllipticEnvelope<float>;
template class EllipticEnvelope<double>;

}   // namespace kedge::engine
