// KernelPCA: the centred kernel matrix, its leading eigenvectors, and projections in blocks of rows.
#include "engine/estimators/kernels/kernel_pca.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/kernels/leading_eigenpairs.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = KernelPcaParams;
constexpr const char* kName = "KernelPCA";
constexpr std::int64_t kBlockValues = std::int64_t{1} << 22;   // kernel values of a projection that are held together

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_components", &P::n_components, at_least(1), "Components to find; null for all that are not 0.")
          .add("kernel", &P::kernel, {"linear", "poly", "rbf", "sigmoid", "cosine"}, "The kernel.")
          .add("gamma", &P::gamma, at_least(0), "Factor of the rbf, poly and sigmoid kernels; null for 1 / n_features.")
          .add("degree", &P::degree, at_least(0), "Degree of the poly kernel.")
          .add("coef0", &P::coef0, {}, "Constant of the poly and sigmoid kernels.")
          .ignore("kernel_params", nullptr, {null_form()})
          .ignore("alpha", 1.0, {number_form(at_least(0))})
          .ignore("fit_inverse_transform", false, {boolean_form()})
          .ignore("eigen_solver", "auto", {string_form({"auto", "dense", "arpack", "randomized"})})
          .ignore("tol", 0.0, {number_form(at_least(0))})
          .ignore("max_iter", nullptr, {integer_form(at_least(1)), null_form()})
          .ignore("iterated_power", "auto", {integer_form(at_least(0)), string_form({"auto"})})
          .add("remove_zero_eig", &P::remove_zero_eig, "Leave out components whose eigenvalue is 0.")
          .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()})
          .ignore("copy_X", true, {boolean_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

// A kernel matrix in double.
template <class T>
Matrix<double> wide(const Context& ctx, const Matrix<T>& K) {
  Matrix<double> out(ctx.memory(), K.rows(), K.cols());
  ctx.ops<T>().design->gather({.X = K.view()}, 0, out.view());
  return out;
}

// Rounding below 0 and far below the largest as 0. Errors: kBadData where it is more than that.
void check_eigenvalues(std::vector<double>& values) {
  constexpr double kClearlyNegative = 1e-5, kLeast = 1e-12;
  const double largest = std::max(0.0, *std::ranges::max_element(values)), least = *std::ranges::min_element(values);
  require(!(least < -kClearlyNegative * largest && least < -1e-10), schema::ErrorCode::kBadData,
          "{}: the kernel is not positive semidefinite: its smallest eigenvalue here is {:.3g}, the largest {:.3g}",
          kName, least, largest);
  for (double& value : values) value = value < kLeast * largest ? 0.0 : value;
}

}   // namespace

template <class T>
KernelPCA<T>::KernelPCA(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo KernelPCA<T>::info() {
  return {
      .name = kName,
      .kind = "transformer",
      .family = "decomposition",
      .doc = "Principal components in the space of a kernel.",
      .params = param_set().infos(),
      .attributes = {"eigenvalues_", "eigenvectors_", "gamma_", "X_fit_"},
      .deviations = {"The kernel precomputed, and callables with their kernel_params, are not implemented.",
                     "Eigenvectors are found to rounding whatever eigen_solver says; tol, max_iter, iterated_power and "
                     "random_state have no influence.",
                     "There is no inverse_transform: fit_inverse_transform and alpha have no influence."}};
}

template <class T>
MemoryNeed KernelPCA<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = std::min(memory::integer(step, "n_components", X.rows), X.rows);
  const std::int64_t basis = std::min(bytes_of(X.rows, 30 * (k + 8), memory::kDouble), 2 * memory::square(X.rows));
  const std::int64_t block = std::min(kBlockValues * memory::kDouble, memory::square(X.rows));
  MemoryNeed need = memory::makes(X, k,
                                  4 * memory::square(X.rows) + basis + 4 * memory::doubles(X) +
                                      bytes_of(X.rows, 4 * k, memory::kDouble) + 4 * block);
  need.minimum = memory::square(X.rows);
  need.is_exact = false;
  return need;
}

template <class T>
KernelChoice KernelPCA<T>::kernel_choice() const {
  return {.name = params_.kernel,
          .gamma = params_.gamma.value_or(1 / static_cast<double>(n_features_)),
          .coef0 = params_.coef0,
          .degree = params_.degree};
}

template <class T>
void KernelPCA<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  const std::int64_t n = X.n_rows(), count = std::min(n, params_.n_components.value_or(n));
  Matrix<T> packed(ctx.memory(), n, n_features_), scratch;
  ctx.ops<T>().tables->gather(X.values(ctx, scratch), {}, {}, {}, packed.view());
  rows_ = packed.to_host();
  Matrix<double> K =
      wide(ctx, kernel_matrix<T>(ctx, kernel_choice(), std::as_const(packed).view(), std::as_const(packed).view()));
  Array<double> sums(ctx.memory(), n);
  ctx.ops<double>().rows->column_sums(std::as_const(K).view(), sums.view());
  row_means_ = sums.to_host();
  for (double& mean : row_means_) mean /= static_cast<double>(n);
  mean_ = std::accumulate(row_means_.begin(), row_means_.end(), 0.0) / static_cast<double>(n);
  std::vector<double> less_half = row_means_;   // K - r_i - r_j + m = K - (r_i - m / 2) - (r_j - m / 2)
  for (double& mean : less_half) mean -= mean_ / 2;
  const Matrix<double> across(ctx.memory(), 1, n, less_half), down(ctx.memory(), n, 1, less_half);
  ctx.ops<double>().maps->combine(Binary::kSubtract, std::as_const(K).view(), across.view(), K.view());
  ctx.ops<double>().maps->combine(Binary::kSubtract, std::as_const(K).view(), down.view(), K.view());
  Eigenpairs pairs = leading_eigenpairs(ctx, std::move(K), count);
  check_eigenvalues(pairs.values);
  values_.clear(), vectors_.clear();
  const bool drops_zeros = params_.remove_zero_eig || !params_.n_components;
  for (std::size_t k = 0; k < pairs.values.size(); ++k) {
    if (drops_zeros && pairs.values[k] == 0) continue;
    const auto first = pairs.vectors.begin() + static_cast<std::ptrdiff_t>(k) * n, end = first + n;
    const double largest = *std::max_element(first, end, [](double a, double b) { return std::abs(a) < std::abs(b); });
    values_.push_back(pairs.values[k]);
    for (auto v = first; v != end; ++v) vectors_.push_back(largest < 0 ? -*v : *v);
  }
  require(!values_.empty(), schema::ErrorCode::kBadData,
          "{}: every component is 0, for the kernel sees no difference of rows", kName);
}

// Centred kernel values times vectors over roots of eigenvalues: the products with K, and what centring takes from
// them.
template <class T>
Samples<T> KernelPCA<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const auto n = static_cast<std::int64_t>(row_means_.size()), k = static_cast<std::int64_t>(values_.size());
  std::vector<double> along = vectors_, shares(static_cast<std::size_t>(n), 1 / static_cast<double>(n));
  std::vector<double> sums(values_.size(), 0.0), offsets(values_.size(), 0.0);
  for (std::size_t e = 0; e < along.size(); ++e) {
    const std::size_t c = e / static_cast<std::size_t>(n);
    along[e] = values_[c] > 0 ? along[e] / std::sqrt(values_[c]) : 0.0;
    sums[c] -= along[e];
    offsets[c] += along[e] * (mean_ - row_means_[e % static_cast<std::size_t>(n)]);
  }
  const Matrix<T> basis(ctx.memory(), n, n_features_, rows_);
  const Matrix<double> vectors(ctx.memory(), k, n, along), ones(ctx.memory(), n, 1, shares),
      less(ctx.memory(), 1, k, sums);
  const Array<double> start(ctx.memory(), std::span<const double>(offsets));
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), k);
  const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / n, 64, 4096);
  LinearOps<double>& linear = *ctx.ops<double>().linear;
  for (std::int64_t first = 0; first < X.n_rows(); first += block) {
    ctx.check_stop();
    const std::int64_t count = std::min(block, X.n_rows() - first);
    const Matrix<double> K =
        wide(ctx, kernel_matrix<T>(ctx, kernel_choice(), X.values(ctx, first, count, scratch), basis.view()));
    Matrix<double> part(ctx.memory(), count, k), means(ctx.memory(), count, 1);
    linear.gemm(Transpose::kNo, Transpose::kNo, 1.0, K.view(), ones.view(), 0.0, means.view());
    linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, K.view(), vectors.view(), 0.0, part.view());
    linear.gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(means).view(), less.view(), 1.0, part.view());
    ctx.ops<double>().rows->add_to_rows(start.view(), part.view());
    if constexpr (std::is_same_v<T, double>) {
      ctx.ops<double>().tables->gather(std::as_const(part).view(), {}, {}, {}, out.view().row_range(first, count));
    } else {
      const std::vector<double> host = part.to_host();
      const std::vector<T> rounded(host.begin(), host.end());
      const Matrix<T> narrow(ctx.memory(), count, k, rounded);
      ctx.ops<T>().tables->gather(narrow.view(), {}, {}, {}, out.view().row_range(first, count));
    }
  }
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap KernelPCA<T>::attributes() const {
  const std::size_t n = row_means_.size(), k = values_.size();
  std::vector<double> turned(vectors_.size());
  for (std::size_t e = 0; e < turned.size(); ++e) turned[e % n * k + e / n] = vectors_[e];
  return {{"eigenvalues_", values_},
          {"eigenvectors_", rows_value(turned, static_cast<std::int64_t>(k))},
          {"gamma_", params_.gamma.value_or(1 / static_cast<double>(n_features_))},
          {"X_fit_", rows_value({rows_.begin(), rows_.end()}, n_features_)}};
}

template <class T>
void KernelPCA<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("row_means", row_means_, kAnySize);
  const auto n = static_cast<std::int64_t>(row_means_.size());
  archive.expect(n > 0, "row_means", "is empty");
  archive.field("rows", rows_, n, n_features_);
  archive.field("eigenvalues", values_, kAnySize);
  archive.expect(!values_.empty(), "eigenvalues", "is empty");
  archive.field("eigenvectors", vectors_, static_cast<std::int64_t>(values_.size()), n);
  archive.field("mean", mean_);
}

template class KernelPCA<float>;
template class KernelPCA<double>;

}   // namespace kedge::engine
