// Fitted centres at work, in an answer and in a stored model.
#include "engine/estimators/cluster/center_clusterer.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/cluster_centers.h"

namespace kedge::engine {

template <class T>
void CenterClusterer<T>::require_rows_for_clusters(const Samples<T>& X) const {
  require_rows(name_, X);
  require(X.n_rows() >= n_clusters_, schema::ErrorCode::kBadData, "{}: got {} rows, n_clusters is {} and needs as many", name_, X.n_rows(),
          n_clusters_);
}

template <class T>
std::vector<std::int32_t> CenterClusterer<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, static_cast<std::size_t>(n_features_));
  return nearest_centers(ctx, X, centers_);
}

template <class T>
Samples<T> CenterClusterer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, static_cast<std::size_t>(n_features_));
  return center_distances(ctx, X, centers_);
}

template <class T>
schema::ValueMap CenterClusterer<T>::attributes() const {
  return {{"cluster_centers_", rows_value({centers_.begin(), centers_.end()}, n_features_)},
          {"labels_", std::vector<double>(labels().begin(), labels().end())},
          {"inertia_", inertia_},
          {"n_iter_", n_iter_}};
}

template <class T>
void CenterClusterer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("centers", centers_, n_clusters_, n_features_);
  archive.expect_finite("centers", centers_);
  archive.indices("labels", labels_.get(), kAnySize, 0, n_clusters_ - 1);
  archive.field("inertia", inertia_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class CenterClusterer<float>;
template class CenterClusterer<double>;

}  // namespace kedge::engine
