// LocalOutlierFactor: densities from lists of neighbours, by gathers and means on the device.
#include "engine/estimators/outliers/local_outlier_factor.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/outliers/contamination.h"

namespace kedge::engine {
namespace {

using P = LocalOutlierFactorParams;
constexpr const char* kName = "LocalOutlierFactor";
constexpr double kAutoOffset = -1.5, kFewDuplicates = -1e7;
constexpr double kLeastReach = 1e-10;   // so that rows with many duplicates have a density

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    made.add("n_neighbors", &P::n_neighbors, between(1, 1023), "Number of neighbours.");
    return add_neighbor_params(made)
        .any("contamination", &P::contamination, contamination_forms(), kContaminationDoc)
        .add("novelty", &P::novelty, "Whether rows that it was not fitted with are judged, and not the fitted ones.");
  }();
  return set;
}

// The lists of some rows as numbers on the device. Of fitted rows the first neighbour is the row itself, or an equal
// one, whose numbers are the same; it does not count.
template <class T>
class Neighbourhoods {
 public:
  Neighbourhoods(const Context& ctx, const typename NeighborModel<T>::DeviceLists& lists, bool skips_first)
      : ctx_(ctx), ops_(ctx.ops<T>()), lists_(lists), n_(lists.indices.rows()), k_(lists.indices.cols()) {
    std::vector<T> share(static_cast<std::size_t>(k_),
                         static_cast<T>(1.0 / static_cast<double>(k_ - (skips_first ? 1 : 0))));
    if (skips_first) share[0] = 0;
    share_ = Matrix<T>(ctx.memory(), k_, 1, share);
  }

  // The local reachability densities of the rows, from the distances of the fitted rows to their last neighbours.
  Matrix<T> densities(const Matrix<T>& k_distances) const {
    Matrix<T> reach = gathered(k_distances);
    ops_.maps->combine(Binary::kMaximum, std::as_const(reach).view(), lists_.distances.view(), reach.view());
    Matrix<T> mean = means(reach), ones(ctx_.memory(), n_, 1);
    const Matrix<T> least(ctx_.memory(), 1, 1, std::vector<T>{static_cast<T>(kLeastReach)});
    ops_.maps->combine(Binary::kAdd, std::as_const(mean).view(), least.view(), mean.view());
    ops_.maps->map(Unary::kExp, 0, std::as_const(mean).view(), ones.view());   // exp(0) = 1
    ops_.maps->combine(Binary::kDivide, std::as_const(ones).view(), std::as_const(mean).view(), mean.view());
    return mean;
  }

  // Minus the mean of the neighbours' densities, as multiples of the row's own; n x 1 in double.
  Matrix<double> factors(const Matrix<T>& fitted_densities, const Matrix<T>& own) const {
    Matrix<T> ratio = means(gathered(fitted_densities));
    ops_.maps->combine(Binary::kDivide, std::as_const(ratio).view(), own.view(), ratio.view());
    const Matrix<T> minus(ctx_.memory(), 1, 1, std::vector<T>{T{-1}});
    ops_.maps->combine(Binary::kMultiply, std::as_const(ratio).view(), minus.view(), ratio.view());
    Matrix<double> out(ctx_.memory(), n_, 1);
    ops_.design->gather({.X = std::as_const(ratio).view()}, 0, out.view());
    return out;
  }

 private:
  // values[neighbour] for each neighbour in the lists.
  Matrix<T> gathered(const Matrix<T>& values) const {
    Matrix<T> out(ctx_.memory(), n_, k_);
    ops_.tables->gather(values.view(), {lists_.indices.data(), n_ * k_}, {}, {}, {out.data(), n_ * k_, 1});
    return out;
  }
  Matrix<T> means(const Matrix<T>& values) const {
    Matrix<T> out(ctx_.memory(), n_, 1);
    ops_.linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, values.view(), share_.view(), T{0}, out.view());
    return out;
  }

  const Context& ctx_;
  Backend<T>& ops_;
  const typename NeighborModel<T>::DeviceLists& lists_;
  std::int64_t n_, k_;
  Matrix<T> share_;   // of each neighbour in a mean
};

}   // namespace

template <class T>
LocalOutlierFactor<T>::LocalOutlierFactor(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_neighbor_params(kName, params_);
}

template <class T>
schema::EstimatorInfo LocalOutlierFactor<T>::info() {
  std::vector<std::string> attributes = NeighborModel<T>::attribute_names();
  attributes.insert(attributes.end(), {"negative_outlier_factor_", "n_neighbors_", "offset_"});
  return {
      .name = kName,
      .kind = "detector",
      .family = "neighbors",
      .doc = "Outliers by their density, compared with that of their neighbours.",
      .params = param_set().infos(),
      .attributes = std::move(attributes),
      .deviations = {"n_neighbors is at most 1023.", "Other metrics than the listed ones, and callables, are refused.",
                     "Among equal distances the earlier row is nearer."}};
}

template <class T>
MemoryNeed LocalOutlierFactor<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t lists = bytes_of(X.rows, memory::integer(step, "n_neighbors") + 1, 4 + 3 * X.value_bytes);
  return {.work = 2 * X.copy() + X.value_size() + lists + X.rows * 8 * memory::kDouble, .minimum = X.copy()};
}

template <class T>
void LocalOutlierFactor<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  ctx.check_stop();
  const std::int64_t n = X.n_rows(), k = std::min(params_.n_neighbors, n - 1);
  if (params_.n_neighbors > n)
    ctx.warn(fmt::format("{}: n_neighbors is {}, more than the {} rows; takes {}", kName, params_.n_neighbors, n, k));
  n_neighbors_ = k;
  model_.fit(ctx, X, params_);
  const Lists lists = model_.device_lists(ctx, kName, X, k + 1);
  const Neighbourhoods<T> around(ctx, lists, true);
  Matrix<T> last(ctx.memory(), n, 1);
  ctx.ops<T>().tables->gather(lists.distances.view().last_columns(1), {}, {}, {}, last.view());
  const Matrix<T> densities = around.densities(last);
  const Matrix<double> factors = around.factors(densities, densities);
  const auto share = contamination_share(params_.contamination);
  this->offset_ = share ? score_quantile(ctx, factors.view(), *share) : kAutoOffset;
  k_distances_ = last.to_host(), densities_ = densities.to_host(), factors_ = factors.to_host();
  if (!params_.novelty && std::ranges::min(factors_) < kFewDuplicates)
    ctx.warn(fmt::format("{}: more than n_neighbors = {} rows are equal, which makes others outliers; raise it", kName,
                         params_.n_neighbors));
}

template <class T>
Matrix<double> LocalOutlierFactor<T>::scores(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(model_.n_cols()));
  if (X.n_rows() == 0) return Matrix<double>(ctx.memory(), 0, 1);
  const std::int64_t n = model_.n_rows();
  const Lists lists = model_.device_lists(ctx, kName, X, n_neighbors_);
  const Neighbourhoods<T> around(ctx, lists, false);
  const Matrix<T> last(ctx.memory(), n, 1, k_distances_), densities(ctx.memory(), n, 1, densities_);
  return around.factors(densities, around.densities(last));
}

template <class T>
schema::ValueMap LocalOutlierFactor<T>::attributes() const {
  schema::ValueMap all = model_.attributes();
  all.insert(all.end(),
             {{"negative_outlier_factor_", factors_}, {"n_neighbors_", n_neighbors_}, {"offset_", this->offset_}});
  return all;
}

template <class T>
void LocalOutlierFactor<T>::state(StateArchive& archive) {
  model_.state(archive, params_);
  archive.number("n_neighbors", n_neighbors_, 1, model_.n_rows());
  archive.field("offset", this->offset_);
  archive.field("k_distances", k_distances_, model_.n_rows());
  archive.field("densities", densities_, model_.n_rows());
  archive.field("factors", factors_, model_.n_rows());
}

template class LocalOutlierFactor<float>;
template class LocalOutlierFactor<double>;

}   // namespace kedge::engine
