// DBSCAN: components of dense rows from the backend, numbered on the host.
#include "engine/estimators/cluster/dbscan.h"

#include <fmt/core.h>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/own_values.h"

namespace kedge::engine {
namespace {

using P = DbscanParams;
constexpr const char* kName = "DBSCAN";
constexpr std::int64_t kMostNumbers = 7'000'000;   // labels, core samples and components: a result's message has 60 MiB

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.add("eps", &P::eps, above(0), "Distance within which two rows are neighbours.")
        .add("min_samples", &P::min_samples, at_least(1), "Neighbours, itself included, or their weight, that make a row core.");
    return add_neighbor_params(s);
  }();
  return set;
}

}  // namespace

template <class T>
DBSCAN<T>::DBSCAN(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_neighbor_params(kName, params_);
}

template <class T>
schema::EstimatorInfo DBSCAN<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters of dense rows, and noise.",
          .params = param_set().infos(),
          .attributes = {"labels_", "core_sample_indices_", "components_"},
          .deviations = {"Other metrics than the listed ones, and callables, are refused.",
                         "components_ is left out where labels, core samples and components are more than 7,000,000 "
                         "numbers together."}};
}

template <class T>
void DBSCAN<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  NeighborModel<T> model;
  model.fit(ctx, X, params_);
  const Array<double> weights(ctx.memory(), std::span<const double>(y.weights));
  Array<std::uint8_t> core(ctx.memory(), X.n_rows());
  Array<std::int32_t> component(ctx.memory(), X.n_rows());
  model.components(ctx, params_.eps, static_cast<double>(params_.min_samples), weights.view(), core.view(), component.view());
  labels_ = component.to_host();
  core_.clear();
  const std::vector<std::uint8_t> is_core = core.to_host();
  std::vector<std::int32_t> names(labels_.size(), -1);   // by the component's lowest core row
  std::int32_t n_clusters = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (is_core[i]) core_.push_back(static_cast<std::int32_t>(i));
    if (is_core[i] && labels_[i] == static_cast<std::int32_t>(i)) names[i] = n_clusters++;
  }
  for (std::int32_t& label : labels_) label = label < 0 ? -1 : names[static_cast<std::size_t>(label)];
  n_features_ = X.n_cols();
  const std::int64_t n_core = std::ssize(core_), numbers = X.n_rows() + n_core * (2 + n_features_);
  components_ = numbers <= kMostNumbers ? rows_of_first_rank(ctx, X, core_) : std::vector<double>();
  if (numbers > kMostNumbers)
    ctx.warn(
        fmt::format("{}: components_, {} x {}, is left out, since no result holds so much: it is the rows at "
                    "core_sample_indices_",
                    kName, n_core, n_features_));
}

template <class T>
schema::ValueMap DBSCAN<T>::attributes() const {
  schema::ValueMap map{{"labels_", std::vector<double>(labels_.begin(), labels_.end())},
                       {"core_sample_indices_", std::vector<double>(core_.begin(), core_.end())}};
  if (core_.empty() || !components_.empty()) map.emplace_back("components_", rows_value(components_, n_features_));
  return map;
}

template <class T>
void DBSCAN<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("labels", labels_, kAnySize, -1, kMaxSize);
  archive.indices("core", core_, kAnySize, 0, static_cast<std::int64_t>(labels_.size()) - 1);
  archive.field("components", components_, kAnySize, n_features_);
  archive.expect(components_.empty() || std::ssize(components_) == std::ssize(core_) * n_features_, "components",
                 "has other rows than the core samples");
}

template class DBSCAN<float>;
template class DBSCAN<double>;

}  // namespace kedge::engine
