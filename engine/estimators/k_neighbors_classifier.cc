// KNeighborsClassifier: batches of queries through the fused neighbour search and the vote.
#include "engine/estimators/k_neighbors_classifier.h"

#include <algorithm>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = KNeighborsClassifierParams;
constexpr const char* kName = "KNeighborsClassifier";
constexpr double kMaxNeighbors = 1024;          // what the selection of Backend::nearest can hold
constexpr double kBatchOperations = 8e10;      // multiply-adds between two looks at the stop token: well below a second

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_neighbors", &P::n_neighbors, between(1, kMaxNeighbors), "Number of neighbours that vote.")
          .any("weights", &P::weights, {string_form({"uniform", "distance"}), null_form()},
               "uniform: each neighbour counts 1 (null means the same); distance: 1 / distance.")
          .add("algorithm", &P::algorithm, {"auto", "ball_tree", "kd_tree", "brute"},
               "All give the same neighbours; brute force finds them whichever is named.")
          .ignore("leaf_size", 30, {integer_form(at_least(1))})
          .add("p", &P::p, above(0), "Power of the Minkowski metric; only 2 is implemented.")
          .add("metric", &P::metric, {"minkowski", "euclidean", "l2"}, "Distance; all three names mean the Euclidean one.")
          .ignore("metric_params", nullptr, {null_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

}  // namespace

template <class T>
KNeighborsClassifier<T>::KNeighborsClassifier(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (params_.metric == "minkowski" && params_.p != 2)
    refuse_param(kName, "p", params_.p, "must be 2: only the Euclidean distance is implemented");
}

template <class T>
schema::EstimatorInfo KNeighborsClassifier<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "neighbors",
          .doc = "Vote of the k nearest training rows.",
          .params = param_set().infos(),
          .attributes = {"classes_", "effective_metric_", "n_features_in_", "n_samples_fit_"},
          .deviations = {"n_neighbors is at most 1024.", "Only the Euclidean distance is implemented.",
                         "algorithm is always brute force; the neighbours are the same.",
                         "Among equal distances the earlier training row is nearer."}};
}

template <class T>
void KNeighborsClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  present_ = PresentClasses(y);
  positions_ = device_positions(ctx, present_, y);
  points_ = X;
  if (!X.rows && !X.is_affine()) return;
  Matrix<T> copy;
  X.values(ctx, copy);
  points_ = samples_of(std::move(copy));
}

template <class T>
void KNeighborsClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  require(points_.table != nullptr, schema::ErrorCode::kInternal, "{}: predict before fit", kName);
  require_fitted_columns(kName, X, static_cast<std::size_t>(points_.n_cols()));
  const MatrixView<const T> points = std::as_const(points_.table->X).view();
  require(params_.n_neighbors <= points.rows, schema::ErrorCode::kBadData,
          "{}: n_neighbors is {}, but there are only {} training rows", kName, params_.n_neighbors, points.rows);
  const int k = static_cast<int>(params_.n_neighbors);
  const double per_query = static_cast<double>(points.rows) * static_cast<double>(points.cols);
  const auto batch = static_cast<std::int64_t>(std::clamp(kBatchOperations / per_query, 64.0, 1048576.0));

  Matrix<T> votes(ctx.memory(), X.n_rows(), present_.size()), scratch;
  for (std::int64_t first = 0; first < X.n_rows(); first += batch) {
    ctx.check_stop();
    const std::int64_t count = std::min(batch, X.n_rows() - first);
    Matrix<std::int32_t> indices(ctx.memory(), count, k);
    Matrix<T> squared(ctx.memory(), count, k);
    ctx.ops<T>().nearest(X.values(ctx, first, count, scratch), points, k, indices.view(), squared.view());
    ctx.ops<T>().vote(std::as_const(indices).view(), std::as_const(squared).view(), positions_.view(),
                      params_.weights == "distance", votes.view().row_range(first, count));
    ctx.progress("queries", first + count, X.n_rows(), "rows");
  }
  spread_scores(ctx, present_, std::as_const(votes).view(), 0.0, proba);
}

template <class T>
schema::ValueMap KNeighborsClassifier<T>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"effective_metric_", "euclidean"},
          {"n_features_in_", points_.table ? points_.n_cols() : 0},
          {"n_samples_fit_", points_.table ? points_.n_rows() : 0}};
}

template class KNeighborsClassifier<float>;
template class KNeighborsClassifier<double>;

}  // namespace kedge::engine
