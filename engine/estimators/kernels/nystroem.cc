// Nystroem: landmarks, the kernel between them, and its inverse square root.
#include "engine/estimators/kernels/nystroem.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/linked_tables.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = NystroemParams;
constexpr const char* kName = "Nystroem";
constexpr double kLeastSingular = 1e-12;
constexpr std::int64_t kBlockRows = 4096;   // rows transformed together: bounds the kernel matrix that is held

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("kernel", &P::kernel, kernel_names(), "The kernel that is approximated.")
          .add("gamma", &P::gamma, at_least(0),
               "Factor of the rbf, polynomial, sigmoid and laplacian kernels; null for 1 / n_features.")
          .add("coef0", &P::coef0, {}, "Constant of the polynomial and sigmoid kernels; null for 1.")
          .add("degree", &P::degree, at_least(1), "Degree of the polynomial kernel; null for 3.")
          .ignore("kernel_params", nullptr, {null_form()})
          .add("n_components", &P::n_components, at_least(1), "Features to make, and rows to make them from.")
          .random_state(&P::random_state)
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

// U diag(s ^ -1/2) V' of the singular value decomposition U diag(s) V' of a symmetric matrix, which is overwritten. The
// eigenvectors are both U and V, except for the signs of negative eigenvalues, and cost a third of it.
template <class T>
Matrix<T> inverse_root(const Context& ctx, Matrix<T> K) {
  const std::int64_t k = K.rows();
  Array<T> w(ctx.memory(), k);
  ctx.ops<T>().factorise->eigh(K.view(), w.view());   // row i of K is now the eigenvector of w[i]
  std::vector<T> rows = K.to_host();
  auto at = rows.begin();
  for (const T value : w.to_host()) {
    const double size = std::max(std::abs(static_cast<double>(value)), kLeastSingular),
                 factor = (value < 0 ? -1 : 1) / std::sqrt(size);
    for (std::int64_t j = 0; j < k; ++j, ++at) *at = static_cast<T>(static_cast<double>(*at) * factor);
  }
  const Matrix<T> scaled(ctx.memory(), k, k, rows);
  Matrix<T> result(ctx.memory(), k, k);
  ctx.ops<T>().linear->gemm(Transpose::kYes, Transpose::kNo, T{1}, std::as_const(K).view(), scaled.view(), T{0},
                            result.view());
  return result;
}

std::vector<double> doubles(const auto& values) { return {values.begin(), values.end()}; }

}  // namespace

template <class T>
Nystroem<T>::Nystroem(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo Nystroem<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "kernel_approximation",
          .doc = "Approximate feature map of a kernel, from a subset of the rows.",
          .params = param_set().infos(),
          .attributes = {"components_", "component_indices_", "normalization_"},
          .deviations = {
              "The kernels chi2, additive_chi2 and precomputed, and callables with their kernel_params, are not implemented."}};
}

template <class T>
KernelChoice Nystroem<T>::kernel_choice() const {
  return {.name = params_.kernel,
          .gamma = params_.gamma.value_or(1 / static_cast<double>(n_features_)),
          .coef0 = params_.coef0.value_or(1),
          .degree = params_.degree.value_or(3)};
}

template <class T>
void Nystroem<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  const std::int64_t n = X.n_rows(), k = std::min(n, params_.n_components);
  if (params_.n_components > n)
    ctx.warn("Nystroem: n_components is " + std::to_string(params_.n_components) + ", more than the " + std::to_string(n) +
             " rows; takes all of them");
  const auto seed = static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
  std::vector<std::int64_t> order = LegacyRandom(seed).permutation(n);
  order.resize(static_cast<std::size_t>(k));
  component_indices_ = doubles(order);
  const Samples<T> landmarks = selected_rows(ctx, X, order);
  Matrix<T> scratch;
  const MatrixView<const T> basis = landmarks.values(ctx, scratch);
  components_ = scratch.to_host();
  normalization_ = inverse_root(ctx, kernel_matrix(ctx, kernel_choice(), basis, basis)).to_host();
}

template <class T>
Samples<T> Nystroem<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const auto k = static_cast<std::int64_t>(component_indices_.size());
  const Matrix<T> basis(ctx.memory(), k, n_features_, components_), normalization(ctx.memory(), k, k, normalization_);
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), k);
  for (std::int64_t first = 0; first < X.n_rows(); first += kBlockRows) {
    ctx.check_stop();
    const std::int64_t count = std::min(kBlockRows, X.n_rows() - first);
    const Matrix<T> K = kernel_matrix(ctx, kernel_choice(), X.values(ctx, first, count, scratch), basis.view());
    ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, K.view(), normalization.view(), T{0},
                              out.view().row_range(first, count));
  }
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap Nystroem<T>::attributes() const {
  return {{"components_", rows_value(doubles(components_), n_features_)},
          {"component_indices_", component_indices_},
          {"normalization_", rows_value(doubles(normalization_), static_cast<std::int64_t>(component_indices_.size()))}};
}

template <class T>
void Nystroem<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("component_indices", component_indices_, kAnySize);
  const auto k = static_cast<std::int64_t>(component_indices_.size());
  archive.field("components", components_, k, n_features_);
  archive.field("normalization", normalization_, k, k);
}

template class Nystroem<float>;
template class Nystroem<double>;

}  // namespace kedge::engine
