// QuantileTransformer: quantiles of a sample of the rows; the device finds each value's place among them.
#include "engine/estimators/preprocessing/quantile_transformer.h"

#include <algorithm>

#include "engine/backend/linked_tables.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = QuantileTransformerParams;
constexpr const char* kName = "QuantileTransformer";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_quantiles", &P::n_quantiles, at_least(1), "Quantiles to compute; at most as many as rows are used.")
          .add("output_distribution", &P::output_distribution, {"uniform", "normal"}, "Distribution of the result.")
          .ignore("ignore_implicit_zeros", false, {boolean_form()})
          .add("subsample", &P::subsample, at_least(1), "Most rows to find the quantiles from; null for all.")
          .random_state(&P::random_state)
          .ignore("copy", true, {boolean_form()});
  return set;
}

}  // namespace

template <class T>
QuantileTransformer<T>::QuantileTransformer(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (params_.subsample && params_.n_quantiles > *params_.subsample)
    refuse_param(kName, "n_quantiles", params_.n_quantiles, "must be at most subsample, " + std::to_string(*params_.subsample));
}

template <class T>
schema::EstimatorInfo QuantileTransformer<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Map columns to a uniform or normal distribution by their quantiles.",
          .params = param_set().infos(),
          .attributes = {"n_quantiles_", "quantiles_", "references_"},
          .deviations = {}};
}

template <class T>
void QuantileTransformer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  refuse_infinite(ctx, kName, X);
  ctx.check_stop();
  const std::int64_t n = X.n_rows();
  if (params_.n_quantiles > n)
    ctx.warn("QuantileTransformer: n_quantiles is " + std::to_string(params_.n_quantiles) + ", more than the " +
             std::to_string(n) + " rows; takes as many as rows");
  references_ = linspace(0, 1, std::min(params_.n_quantiles, n));
  n_features_ = X.n_cols();
  Samples<T> sample = X;
  if (params_.subsample && *params_.subsample < n) {
    const auto seed = static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
    std::vector<std::int64_t> order = LegacyRandom(seed).permutation(n);
    order.resize(static_cast<std::size_t>(*params_.subsample));
    sample = selected_rows(ctx, X, order);
  }
  std::vector<double> q = references_;
  for (double& share : q) share = share * 100 / 100;   // percentiles, as scikit-learn asks for them
  quantiles_ = column_quantiles(ctx, sample, q);
}

template <class T>
Samples<T> QuantileTransformer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  std::vector<double> by_column;
  for (std::int64_t j = 0; j < n_features_; ++j)
    for (std::size_t i = 0; i < references_.size(); ++i)
      by_column.push_back(quantiles_[i * static_cast<std::size_t>(n_features_) + static_cast<std::size_t>(j)]);
  const Matrix<double> quantiles(ctx.memory(), n_features_, static_cast<std::int64_t>(references_.size()), by_column);
  const Array<double> references(ctx.memory(), std::span<const double>(references_));
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), n_features_);
  ctx.ops<T>().maps->quantile_ranks(X.values(ctx, scratch), quantiles.view(), references.view(),
                                    params_.output_distribution == "normal", out.view());
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap QuantileTransformer<T>::attributes() const {
  return {{"n_quantiles_", static_cast<std::int64_t>(references_.size())},
          {"quantiles_", rows_value(quantiles_, n_features_)},
          {"references_", references_}};
}

template <class T>
void QuantileTransformer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("references", references_, kAnySize);
  archive.expect(!references_.empty(), "references", "is empty");
  archive.field("quantiles", quantiles_, static_cast<std::int64_t>(references_.size()), n_features_);
}

template class QuantileTransformer<float>;
template class QuantileTransformer<double>;

}  // namespace kedge::engine
