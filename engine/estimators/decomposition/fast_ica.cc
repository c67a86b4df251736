// FastICA: fixed-point iterations on whitened rows, all components at once or one after the other.
#include "engine/estimators/decomposition/fast_ica.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/pca_solvers.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = FastICAParams;
using Numbers = std::vector<double>;   // a matrix, row-major
constexpr const char* kName = "FastICA";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_components", &P::n_components, at_least(1), "Components to keep; null for all.")
          .add("algorithm", &P::algorithm, {"parallel", "deflation"},
               "parallel: all at once; deflation: one after the other.")
          .any("whiten", &P::whiten, {string_form({"unit-variance", "arbitrary-variance"}), boolean_form()},
               "What the results are scaled to; false: the data are white already.")
          .add("fun", &P::fun, {"logcosh", "exp", "cube"}, "The contrast, by its slope.")
          .any("fun_args", &P::fun_args,
               {object_form({{"alpha", "Of logcosh, between 1 and 2.", 1.0, {number_form(between(1, 2))}}}),
                null_form()},
               "Arguments of fun.")
          .add("max_iter", &P::max_iter, at_least(1), "Most iterations.")
          .add("tol", &P::tol, at_least(0), "Largest change of a direction at which the iterations end.")
          .any("w_init", &P::w_init, {array_form({array_form()}), null_form()},
               "Where the iterations begin, n_components x n_components; null draws it.")
          .add(
              "whiten_solver", &P::whiten_solver, {"svd", "eigh"},
              "Does not change the result: both use the eigenvectors of the covariance matrix where these are accurate, and singular vectors "
              "of the data elsewhere.")
          .random_state(&P::random_state);
  return set;
}

double alpha_of(const P& params) {
  const auto* const args = std::get_if<schema::ValueMap>(&params.fun_args.data);
  if (!args) return 1.0;
  for (const auto& [name, value] : *args)
    if (name != "alpha")
      refuse_param(kName, "fun_args", params.fun_args, "has \"" + name + "\", which is not among: alpha");
  const schema::Value* const given = find_value(*args, "alpha");
  if (!given) return 1.0;
  const auto* const whole = std::get_if<std::int64_t>(&given->data);
  const auto* const real = std::get_if<double>(&given->data);
  const double alpha = whole ? static_cast<double>(*whole) : (real ? *real : 0.0);
  if (!(alpha >= 1 && alpha <= 2))
    refuse_param(kName, "fun_args", params.fun_args, "must have an alpha between 1 and 2");
  return alpha;
}

// A W, both k x k or A of fewer rows.
Numbers product(const Numbers& A, const Numbers& W, std::int64_t inner, std::int64_t cols) {
  const auto k = static_cast<std::size_t>(inner), d = static_cast<std::size_t>(cols);
  Numbers out(A.size() / k * d, 0.0);
  for (std::size_t i = 0; i < A.size() / k; ++i)
    for (std::size_t e = 0; e < k; ++e)
      for (std::size_t j = 0; j < d; ++j) out[i * d + j] += A[i * k + e] * W[e * d + j];
  return out;
}

// The nearest orthogonal matrix, (W W')^(-1/2) W.
Numbers decorrelated(const Context& ctx, const Numbers& W, std::int64_t k) {
  Backend<double>& ops = ctx.ops<double>();
  const Matrix<double> rows(ctx.memory(), k, k, W);
  Matrix<double> vectors(ctx.memory(), k, k), inner(ctx.memory(), k, k), out(ctx.memory(), k, k);
  Array<double> values(ctx.memory(), k);
  ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows.view(), rows.view(), 0.0, vectors.view());
  ops.factorise->eigh(vectors.view(), values.view());
  Numbers roots = values.to_host();
  for (double& root : roots) root = std::pow(std::max(root, std::numeric_limits<double>::min()), -0.25);
  const Matrix<double> scale(ctx.memory(), k, 1, roots);
  ops.maps->combine(Binary::kMultiply, std::as_const(vectors).view(), scale.view(), vectors.view());
  ops.linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(vectors).view(), rows.view(), 0.0, inner.view());
  ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, std::as_const(vectors).view(), std::as_const(inner).view(),
                   0.0, out.view());
  return out.to_host();
}

// The fixed point's step for some directions at once.
template <class T>
class Step {
 public:
  Step(const Context& ctx, MatrixView<const T> X, const P& params, std::int64_t directions)
      : ctx_(ctx),
        X_(X),
        fun_(params.fun),
        alpha_(alpha_of(params)),
        Y_(ctx.memory(), X.rows, directions),
        S_(ctx.memory(), X.rows, directions) {
    if (fun_ == "exp") E_ = Matrix<T>(ctx.memory(), X.rows, directions);
  }

  // For each row w of W: the mean of g(w'x) x, less that of g'(w'x) times w.
  Numbers operator()(const Numbers& W) {
    const std::int64_t k = X_.cols, m = Y_.cols(), n = X_.rows;
    LinearOps<T>& linear = *ctx_.ops<T>().linear;
    const Matrix<T> directions(ctx_.memory(), m, k, std::vector<T>(W.begin(), W.end()));
    linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, X_, directions.view(), T{0}, Y_.view());
    const Numbers slope = apply();
    Matrix<T> sums(ctx_.memory(), m, k);
    linear.gemm(Transpose::kYes, Transpose::kNo, T{1}, std::as_const(Y_).view(), X_, T{0}, sums.view());
    const std::vector<T> host = sums.to_host();
    Numbers next(W.size());
    for (std::size_t e = 0; e < W.size(); ++e)
      next[e] = static_cast<double>(host[e]) / static_cast<double>(n) - slope[e / static_cast<std::size_t>(k)] * W[e];
    return next;
  }

 private:
  Numbers means(const Matrix<T>& values) {
    Array<double> sums(ctx_.memory(), values.cols());
    ctx_.ops<T>().rows->column_sums(values.view(), sums.view());
    Numbers mean = sums.to_host();
    for (double& m : mean) m /= static_cast<double>(values.rows());
    return mean;
  }

  // Y becomes g(Y); returns the mean of g'(Y) by column.
  Numbers apply() {
    MapOps<T>& maps = *ctx_.ops<T>().maps;
    const MatrixView<const T> Y = std::as_const(Y_).view(), S = std::as_const(S_).view();
    if (fun_ == "logcosh") {
      maps.map(Unary::kTanh, alpha_, Y, Y_.view());
      maps.map(Unary::kSquare, 1, Y, S_.view());
      Numbers slope = means(S_);
      for (double& mean : slope) mean = alpha_ * (1 - mean);
      return slope;
    }
    maps.map(Unary::kSquare, 1, Y, S_.view());
    if (fun_ == "cube") {
      Numbers slope = means(S_);
      for (double& mean : slope) mean *= 3;
      maps.combine(Binary::kMultiply, S, Y, Y_.view());
      return slope;
    }
    const MatrixView<const T> E = std::as_const(E_).view();
    maps.map(Unary::kExp, -0.5, S, E_.view());
    maps.combine(Binary::kMultiply, S, E, S_.view());
    maps.combine(Binary::kMultiply, E, Y, Y_.view());
    Numbers slope = means(E_);
    const Numbers less = means(S_);
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] -= less[i];
    return slope;
  }

  const Context& ctx_;
  MatrixView<const T> X_;
  std::string fun_;
  double alpha_;
  Matrix<T> Y_, S_, E_;
};

struct Directions {
  Numbers W;
  std::int64_t n_iter = 0;
  bool has_converged = true;
};

// How far the rows turned: the largest | |w . v| - 1 |.
double turn(const Numbers& W, const Numbers& V, std::int64_t k) {
  double most = 0;
  for (auto w = W.begin(), v = V.begin(); w != W.end(); w += k, v += k)
    most = std::max(most, std::abs(std::abs(std::inner_product(w, w + k, v, 0.0)) - 1));
  return most;
}

template <class T>
Directions all_at_once(const Context& ctx, MatrixView<const T> X, const P& params, const Numbers& start) {
  const std::int64_t k = X.cols;
  Step<T> step(ctx, X, params, k);
  Directions found{.W = decorrelated(ctx, start, k), .has_converged = false};
  while (found.n_iter < params.max_iter && !found.has_converged) {
    ctx.check_stop();
    const Numbers next = decorrelated(ctx, step(found.W), k);
    found.has_converged = turn(next, found.W, k) < params.tol;
    found.W = next, ++found.n_iter;
    ctx.progress("iterations", found.n_iter, params.max_iter, "iterations");
  }
  return found;
}

// w without its share of the rows of W, of length 1.
void orthonormalize(Numbers& w, const Numbers& W) {
  const auto k = static_cast<std::ptrdiff_t>(w.size());
  Numbers share(w.size(), 0.0);
  for (auto row = W.begin(); row != W.end(); row += k) {
    const double along = std::inner_product(w.begin(), w.end(), row, 0.0);
    for (std::size_t j = 0; j < w.size(); ++j) share[j] += along * row[static_cast<std::ptrdiff_t>(j)];
  }
  for (std::size_t j = 0; j < w.size(); ++j) w[j] -= share[j];
  const double length = std::sqrt(std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
  for (double& value : w) value /= length;
}

template <class T>
Directions one_by_one(const Context& ctx, MatrixView<const T> X, const P& params, const Numbers& start) {
  const std::int64_t k = X.cols;
  Step<T> step(ctx, X, params, 1);
  Directions found;
  for (std::int64_t j = 0; j < k; ++j) {
    Numbers w(start.begin() + j * k, start.begin() + (j + 1) * k);
    orthonormalize(w, {});
    std::int64_t i = 0;
    for (bool is_still = false; i < params.max_iter && !is_still; ++i) {
      ctx.check_stop();
      Numbers next = step(w);
      orthonormalize(next, found.W);
      is_still = turn(next, w, k) < params.tol;
      w = std::move(next);
    }
    found.n_iter = std::max(found.n_iter, i);
    found.W.insert(found.W.end(), w.begin(), w.end());
    ctx.progress("components", j + 1, k, "components");
  }
  return found;
}

}   // namespace

template <class T>
FastICA<T>::FastICA(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const bool* const whiten = std::get_if<bool>(&params_.whiten.data);
  if (whiten && *whiten)
    refuse_param(kName, "whiten", params_.whiten, "must be \"unit-variance\", \"arbitrary-variance\" or false");
  alpha_of(params_);
  if (!params_.w_init.is_null() && !rows_of(params_.w_init))
    refuse_param(kName, "w_init", params_.w_init, "must be n_components rows of n_components numbers");
}

template <class T>
schema::EstimatorInfo FastICA<T>::info() {
  return {
      .name = kName,
      .kind = "transformer",
      .family = "decomposition",
      .doc = "Independent component analysis.",
      .params = param_set().infos(),
      .attributes = {"components_", "mixing_", "mean_", "n_iter_", "whitening_"},
      .deviations = {
          "w_init = null draws from Philox, not from numpy's generator: components come in another order and with other "
          "signs than scikit-learn's.",
          "fun can't be a function.",
          "Directions in which the data do not vary make no components: null takes as many as they vary in, more are refused. scikit-learn "
          "divides by rounding errors."}};
}

template <class T>
MemoryNeed FastICA<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t small = std::min(X.rows, X.cols),
                     k = std::min(small, memory::integer(step, "n_components", small));
  const std::int64_t spectrum =
      X.rows < X.cols ? 4 * memory::doubles(X) + 2 * memory::square(X.rows) : 4 * memory::square(X.cols);
  const std::int64_t rows = (memory::text(step, "fun") == "exp" ? 4 : 3) * bytes_of(X.rows, k, memory::kDouble);
  return memory::makes(X, k, std::max(spectrum, rows) + memory::block(X) + 4 * memory::square(k));
}

template <class T>
bool FastICA<T>::is_whitened() const {
  return std::holds_alternative<std::string>(params_.whiten.data);
}

template <class T>
std::int64_t FastICA<T>::count_components(const Context& ctx, std::int64_t n, std::int64_t d) const {
  const std::int64_t most = std::min(n, d);
  if (!is_whitened()) {
    if (params_.n_components) ctx.warn("FastICA: n_components is ignored, because whiten is false");
    require(n >= d, schema::ErrorCode::kBadData,
            "FastICA: got {} rows of {} columns, needs at least as many rows where whiten is false", n, d);
    return d;
  }
  const std::int64_t wanted = params_.n_components.value_or(most);
  if (wanted > most)
    ctx.warn("FastICA: n_components is " + std::to_string(wanted) + "; " + std::to_string(most) +
             " are taken, the smaller of rows and columns");
  return std::min(wanted, most);
}

// How many scales are more than rounding errors: as many components as there can be.
template <class T>
std::int64_t FastICA<T>::checked_rank(const std::vector<double>& scales, double least) const {
  const auto rank = std::ranges::count_if(scales, [&](double scale) { return scale > least; });
  require(rank > 0, schema::ErrorCode::kBadData, "FastICA: all rows are equal");
  require(!params_.n_components || rank == static_cast<std::int64_t>(scales.size()), schema::ErrorCode::kBadData,
          "FastICA: n_components is {}, but the data vary in {} directions alone", scales.size(), rank);
  return rank;
}

template <class T>
typename FastICA<T>::White FastICA<T>::whitened(const Context& ctx, const Samples<T>& X) {
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  mean_ = column_means(ctx, X);
  Spectrum spectrum;
  if (n >= d) spectrum = covariance_spectrum(ctx, X, mean_, n_components_);
  if (spectrum.variance.empty() || !is_well_conditioned<T>(spectrum, n_components_))
    spectrum = svd_spectrum(ctx, X, mean_);
  White white;
  for (std::int64_t i = 0; i < n_components_; ++i) white.scales.push_back(singular_value(spectrum, i, n));
  n_components_ = checked_rank(
      white.scales, white.scales.front() * static_cast<double>(std::max(n, d)) * std::numeric_limits<T>::epsilon());
  const std::int64_t k = n_components_;
  white.scales.resize(static_cast<std::size_t>(k));
  white.directions.assign(spectrum.components.begin(), spectrum.components.begin() + k * d);
  Numbers to_white(white.directions.size());
  for (std::int64_t i = 0; i < k; ++i) {
    const auto row = white.directions.begin() + i * d;
    if (*row < 0)
      std::transform(row, row + d, row, std::negate<>());   // the first loading is positive, as scikit-learn has it
    const double scale = white.scales[static_cast<std::size_t>(i)];
    std::transform(row, row + d, to_white.begin() + i * d, [&](double loading) { return loading / scale; });
  }
  whitening_ = to_white;
  for (double& loading : to_white) loading *= std::sqrt(static_cast<double>(n));
  white.rows = project<T>(ctx, X, mean_, std::vector<T>(to_white.begin(), to_white.end()));
  return white;
}

template <class T>
std::vector<double> FastICA<T>::start(const Context& ctx) const {
  const std::int64_t k = n_components_;
  if (const auto rows = rows_of(params_.w_init)) {
    require(static_cast<std::int64_t>(rows->size()) == k && static_cast<std::int64_t>(rows->front().size()) == k,
            schema::ErrorCode::kBadData, "FastICA: w_init is {} x {}, must be {} x {}", rows->size(),
            rows->front().size(), k, k);
    Numbers W;
    for (const Numbers& row : *rows) W.insert(W.end(), row.begin(), row.end());
    return W;
  }
  Matrix<double> drawn(ctx.memory(), k, k);
  ctx.ops<double>().rows->fill_normal(
      params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed, 0, drawn.view());
  return drawn.to_host();
}

template <class T>
void FastICA<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X, 2);
  n_features_ = X.n_cols(), n_components_ = count_components(ctx, X.n_rows(), X.n_cols());
  const White white = is_whitened() ? whitened(ctx, X) : White{.rows = X};
  Matrix<T> scratch;
  const MatrixView<const T> rows = white.rows.values(ctx, scratch);
  const Numbers from = start(ctx);
  const Directions found =
      params_.algorithm == "parallel" ? all_at_once(ctx, rows, params_, from) : one_by_one(ctx, rows, params_, from);
  n_iter_ = found.n_iter;
  if (!found.has_converged)
    ctx.warn("FastICA: no convergence within max_iter = " + std::to_string(params_.max_iter) +
             " iterations; raise it or tol");
  finish(white, found.W, X.n_rows());
}

// Components and their pseudo-inverse. W is orthogonal, so that its inverse is its transpose.
template <class T>
void FastICA<T>::finish(const White& white, std::vector<double> W, std::int64_t n) {
  const auto k = static_cast<std::size_t>(n_components_), d = static_cast<std::size_t>(n_features_);
  Numbers back(k * k);   // W's inverse
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) back[j * k + i] = W[i * k + j];
  if (!is_whitened()) {
    components_ = std::move(W), mixing_ = std::move(back);
    return;
  }
  if (std::get<std::string>(params_.whiten.data) == "unit-variance") {
    const double scale = std::sqrt(static_cast<double>(n));   // white rows have variance 1, sources 1 / n
    for (double& w : W) w *= scale;
    for (double& b : back) b /= scale;
  }
  components_ = product(W, whitening_, n_components_, n_features_);
  Numbers to_rows(k * d);   // the pseudo-inverse of whitening_, transposed
  for (std::size_t e = 0; e < to_rows.size(); ++e) to_rows[e] = white.directions[e] * white.scales[e / d];
  mixing_.assign(d * k, 0.0);
  for (std::size_t c = 0; c < d; ++c)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t e = 0; e < k; ++e) mixing_[c * k + i] += to_rows[e * d + c] * back[e * k + i];
}

template <class T>
Samples<T> FastICA<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const Numbers origin = is_whitened() ? mean_ : Numbers(static_cast<std::size_t>(n_features_), 0.0);
  return project<T>(ctx, X, origin, std::vector<T>(components_.begin(), components_.end()));
}

template <class T>
schema::ValueMap FastICA<T>::attributes() const {
  schema::ValueMap all{{"components_", rows_value(components_, n_features_)},
                       {"mixing_", rows_value(mixing_, n_components_)},
                       {"n_iter_", n_iter_}};
  if (is_whitened()) all.insert(all.end(), {{"mean_", mean_}, {"whitening_", rows_value(whitening_, n_features_)}});
  return all;
}

template <class T>
void FastICA<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 1, kMaxSize);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.field("components", components_, n_components_, n_features_);
  archive.field("mixing", mixing_, n_features_, n_components_);
  if (!is_whitened()) return;
  archive.field("mean", mean_, n_features_);
  archive.field("whitening", whitening_, n_components_, n_features_);
}

template class FastICA<float>;
template class FastICA<double>;

}   // namespace kedge::engine
