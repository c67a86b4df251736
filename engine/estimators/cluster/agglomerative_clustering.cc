// AgglomerativeClustering: the rows are the points.
#include "engine/estimators/cluster/agglomerative_clustering.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = AgglomerativeParams;
constexpr const char* kName = "AgglomerativeClustering";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    return add_agglomerative_params(made);
  }();
  return set;
}

}   // namespace

template <class T>
AgglomerativeClustering<T>::AgglomerativeClustering(const schema::ValueMap& params)
    : params_(param_set().parse(params)) {
  check_agglomerative_params(kName, params_);
}

template <class T>
schema::EstimatorInfo AgglomerativeClustering<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters by merging the two nearest ones, again and again.",
          .params = param_set().infos(),
          .attributes = Agglomeration::attribute_names(),
          .deviations = agglomerative_deviations()};
}

template <class T>
MemoryNeed AgglomerativeClustering<T>::memory(const SampleShape& X, const schema::Step& step) {
  return {.work = X.copy() + agglomeration_bytes(step, X.rows, X.cols), .minimum = memory::doubles(X)};
}

template <class T>
void AgglomerativeClustering<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  clusters_.fit(ctx, kName, params_, host_values(ctx, X), X.n_rows(), X.n_cols());
  n_features_ = X.n_cols();
}

template <class T>
void AgglomerativeClustering<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  clusters_.state(archive);
}

template class AgglomerativeClustering<float>;
template class AgglomerativeClustering<double>;

}   // namespace kedge::engine
