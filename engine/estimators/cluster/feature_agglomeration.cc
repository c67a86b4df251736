// FeatureAgglomeration: the columns are the points; their means are a product with a matrix of shares.
#include "engine/estimators/cluster/feature_agglomeration.h"

#include <algorithm>
#include <utility>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = FeatureAgglomerationParams;
constexpr const char* kName = "FeatureAgglomeration";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    return add_agglomerative_params(made).add("pooling_func", &P::pooling_func, {"mean"},
                                              "What becomes of the columns of a cluster.");
  }();
  return set;
}

}   // namespace

template <class T>
FeatureAgglomeration<T>::FeatureAgglomeration(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_agglomerative_params(kName, params_);
}

template <class T>
schema::EstimatorInfo FeatureAgglomeration<T>::info() {
  std::vector<std::string> deviations = agglomerative_deviations();
  deviations.emplace_back("pooling_func is the name \"mean\" where scikit-learn takes a function; it has no other.");
  return {.name = kName,
          .kind = "transformer",
          .family = "cluster",
          .doc = "Columns that are alike become one, their mean.",
          .params = param_set().infos(),
          .attributes = Agglomeration::attribute_names(),
          .deviations = std::move(deviations)};
}

template <class T>
MemoryNeed FeatureAgglomeration<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t cols = std::min(X.cols, memory::integer(step, "n_clusters", X.cols));
  MemoryNeed need = memory::makes(X, cols, X.copy() + 2 * memory::doubles(X) + agglomeration_bytes(step, X.cols, X.rows));
  need.is_exact = cols < X.cols;
  return need;
}

template <class T>
void FeatureAgglomeration<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  require(d >= 2, schema::ErrorCode::kBadData, "{}: got {} column, needs at least 2", kName, d);
  const std::vector<double> rows = host_values(ctx, X);
  std::vector<double> columns(rows.size());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < d; ++j)
      columns[static_cast<std::size_t>(j * n + i)] = rows[static_cast<std::size_t>(i * d + j)];
  clusters_.fit(ctx, kName, params_, std::move(columns), d, n);
}

template <class T>
Samples<T> FeatureAgglomeration<T>::transform(const Context& ctx, const Samples<T>& X) const {
  const auto d = static_cast<std::int64_t>(clusters_.labels.size()), k = clusters_.n_clusters;
  require_fitted_columns(kName, X, clusters_.labels.size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(k));
  for (const std::int32_t label : clusters_.labels) ++sizes[static_cast<std::size_t>(label)];
  std::vector<T> shares(static_cast<std::size_t>(d * k), T{0});
  for (std::int64_t j = 0; j < d; ++j) {
    const auto label = static_cast<std::size_t>(clusters_.labels[static_cast<std::size_t>(j)]);
    shares[static_cast<std::size_t>(j * k) + label] = static_cast<T>(1.0 / static_cast<double>(sizes[label]));
  }
  const Matrix<T> S(ctx.memory(), d, k, shares);
  Matrix<T> scratch, made(ctx.memory(), X.n_rows(), k);
  ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, X.values(ctx, scratch), S.view(), T{0}, made.view());
  return samples_of(std::move(made));
}

template <class T>
void FeatureAgglomeration<T>::state(StateArchive& archive) {
  clusters_.state(archive);
  auto n_features = static_cast<std::int64_t>(clusters_.labels.size());
  archive.features(n_features);
  for (const std::int32_t label : clusters_.labels)
    require(label < clusters_.n_clusters, schema::ErrorCode::kBadData, "{}: a label is {}, there are {} clusters", kName,
            label, clusters_.n_clusters);
}

template class FeatureAgglomeration<float>;
template class FeatureAgglomeration<double>;

}   // namespace kedge::engine
