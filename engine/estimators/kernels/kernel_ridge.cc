// KernelRidge: the kernel matrix, its Cholesky factor, and predictions in blocks of rows.
#include "engine/estimators/kernels/kernel_ridge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = KernelRidgeParams;
constexpr const char* kName = "KernelRidge";
constexpr std::int64_t kBlockValues = std::int64_t{1} << 22;   // kernel values of a prediction that are held together

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("alpha", &P::alpha, {number_form(at_least(0)), array_form()},
               "Penalty of the squares; a list must have one number, for there is one target.")
          .add("kernel", &P::kernel, kernel_names(), "The kernel.")
          .add("gamma", &P::gamma, at_least(0),
               "Factor of the rbf, polynomial, sigmoid and laplacian kernels; null for 1 / n_features.")
          .add("degree", &P::degree, at_least(0), "Degree of the polynomial kernel.")
          .add("coef0", &P::coef0, {}, "Constant of the polynomial and sigmoid kernels.")
          .ignore("kernel_params", nullptr, {null_form()});
  return set;
}

// The shortest c with the least |K c - y|; K is symmetric and overwritten.
template <class T>
Matrix<T> least_squares_solution(const Context& ctx, Matrix<T> K, const Matrix<T>& y) {
  const std::int64_t n = K.rows();
  Array<T> w(ctx.memory(), n);
  ctx.ops<T>().factorise->eigh(K.view(), w.view());   // row i of K is now the eigenvector of w[i]
  std::vector<T> inverse = w.to_host();
  T largest = 0;
  for (const T value : inverse) largest = std::max(largest, std::abs(value));
  const T least = largest * std::numeric_limits<T>::epsilon() * static_cast<T>(n);
  for (T& value : inverse) value = std::abs(value) > least ? 1 / value : 0;
  const Matrix<T> factors(ctx.memory(), n, 1, inverse);
  Matrix<T> along(ctx.memory(), n, 1), c(ctx.memory(), n, 1);
  LinearOps<T>& linear = *ctx.ops<T>().linear;
  linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, std::as_const(K).view(), y.view(), T{0}, along.view());
  ctx.ops<T>().maps->combine(Binary::kMultiply, std::as_const(along).view(), factors.view(), along.view());
  linear.gemm(Transpose::kYes, Transpose::kNo, T{1}, std::as_const(K).view(), std::as_const(along).view(), T{0},
              c.view());
  return c;
}

}   // namespace

template <class T>
KernelRidge<T>::KernelRidge(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const auto* const one = std::get_if<double>(&params_.alpha.data);
  const std::vector<double> all =
      one ? std::vector<double>{*one} : numbers_of(params_.alpha).value_or(std::vector<double>{});
  if (all.size() != 1) refuse_param(kName, "alpha", params_.alpha, "must have one number, for there is one target");
  if (!(all[0] >= 0)) refuse_param(kName, "alpha", params_.alpha, "must not have negative numbers");
  alpha_ = all[0];
}

template <class T>
schema::EstimatorInfo KernelRidge<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "kernel_ridge",
          .doc = "Ridge regression on the features of a kernel.",
          .params = param_set().infos(),
          .attributes = {"dual_coef_", "X_fit_"},
          .deviations = {
              "The kernels chi2, additive_chi2 and precomputed, and callables with their kernel_params, are not "
              "implemented.",
              "Where K + alpha I is not positive definite, directions whose eigenvalues are rounding are left out."}};
}

template <class T>
KernelChoice KernelRidge<T>::kernel_choice() const {
  return {.name = params_.kernel,
          .gamma = params_.gamma.value_or(1 / static_cast<double>(n_features_)),
          .coef0 = params_.coef0,
          .degree = params_.degree};
}

template <class T>
void KernelRidge<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  const std::int64_t n = X.n_rows();
  Matrix<T> packed(ctx.memory(), n, n_features_);
  {
    Matrix<T> scratch;
    ctx.ops<T>().tables->gather(X.values(ctx, scratch), {}, {}, {}, packed.view());
  }
  rows_ = packed.to_host();
  std::vector<T> roots, right;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const double root = y.weights.empty() ? 1.0 : std::sqrt(y.weights[i]);
    roots.push_back(static_cast<T>(root)), right.push_back(static_cast<T>(root * y.values[i]));
  }
  Matrix<T> target(ctx.memory(), n, 1, right);
  const auto system = [&] {   // made again where the first attempt has overwritten it
    Matrix<T> K = kernel_matrix<T>(ctx, kernel_choice(), std::as_const(packed).view(), std::as_const(packed).view());
    MapOps<T>& maps = *ctx.ops<T>().maps;
    if (!y.weights.empty()) {
      const Matrix<T> across(ctx.memory(), 1, n, roots), down(ctx.memory(), n, 1, roots);
      maps.combine(Binary::kMultiply, std::as_const(K).view(), across.view(), K.view());
      maps.combine(Binary::kMultiply, std::as_const(K).view(), down.view(), K.view());
    }
    const Matrix<T> penalty(ctx.memory(), n, 1, std::vector<T>(right.size(), static_cast<T>(alpha_)));
    MatrixView<T> diagonal = K.view();
    diagonal.cols = 1, diagonal.stride = n + 1;
    maps.combine(Binary::kAdd, diagonal, penalty.view(), diagonal);
    return K;
  };
  Matrix<T> K = system();
  if (!ctx.ops<T>().factorise->solve_positive(K.view(), target.view())) {
    ctx.warn("KernelRidge: the kernel matrix with alpha on its diagonal is not positive definite; takes least squares");
    K = {};
    target = least_squares_solution(ctx, system(), Matrix<T>(ctx.memory(), n, 1, right));
  }
  const std::vector<T> solved = target.to_host();
  dual_coef_.clear();
  for (std::size_t i = 0; i < solved.size(); ++i)
    dual_coef_.push_back(static_cast<double>(solved[i]) * (y.weights.empty() ? 1.0 : std::sqrt(y.weights[i])));
  for (const double coef : dual_coef_)
    require(std::isfinite(coef), schema::ErrorCode::kBadData,
            "{}: coefficients left the range of numbers, because the values are too large; scale the columns", kName);
}

template <class T>
std::vector<double> KernelRidge<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const auto n = static_cast<std::int64_t>(dual_coef_.size());
  const Matrix<T> basis(ctx.memory(), n, n_features_, rows_);
  const Matrix<double> coef(ctx.memory(), n, 1, dual_coef_);
  Matrix<T> scratch;
  std::vector<double> values;
  const std::int64_t block = std::clamp<std::int64_t>(kBlockValues / std::max<std::int64_t>(1, n), 64, 4096);
  for (std::int64_t first = 0; first < X.n_rows(); first += block) {
    ctx.check_stop();
    const std::int64_t count = std::min(block, X.n_rows() - first);
    const Matrix<T> K = kernel_matrix<T>(ctx, kernel_choice(), X.values(ctx, first, count, scratch), basis.view());
    Matrix<double> wide(ctx.memory(), count, n), out(ctx.memory(), count, 1);
    ctx.ops<T>().design->gather({.X = K.view()}, 0, wide.view());
    ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(wide).view(), coef.view(), 0.0,
                                   out.view());
    const std::vector<double> some = out.to_host();
    values.insert(values.end(), some.begin(), some.end());
  }
  return values;
}

template <class T>
schema::ValueMap KernelRidge<T>::attributes() const {
  return {{"dual_coef_", dual_coef_}, {"X_fit_", rows_value({rows_.begin(), rows_.end()}, n_features_)}};
}

template <class T>
void KernelRidge<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("dual_coef", dual_coef_, kAnySize);
  archive.field("rows", rows_, static_cast<std::int64_t>(dual_coef_.size()), n_features_);
}

template class KernelRidge<float>;
template class KernelRidge<double>;

}   // namespace kedge::engine
