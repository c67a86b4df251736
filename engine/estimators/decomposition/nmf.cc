// NMF: its parameters, what a fit leaves, and W for new rows.
#include "engine/estimators/decomposition/nmf.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/decomposition/nmf_start.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = NMFParams;
constexpr const char* kName = "NMF";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("n_components", &P::n_components, {integer_form(at_least(1)), string_form({"auto"}), null_form()},
               "Parts to find; auto and null take as many as there are columns.")
          .any(
              "init", &P::init, {string_form({"random", "nndsvd", "nndsvda", "nndsvdar"}), null_form()},
              "Where the factors start: drawn, or from singular vectors, whose zeros stay, become the mean of the data, or are drawn. "
              "null takes nndsvda where there are as many rows and columns as components, otherwise random.")
          .add("solver", &P::solver, {"cd", "mu"}, "cd: by coordinates; mu: multiplicative updates.")
          .add("beta_loss", &P::beta_loss, {"frobenius", "kullback-leibler"},
               "The divergence that is minimised; kullback-leibler with solver=\"mu\" alone.")
          .add(
              "tol", &P::tol, at_least(0),
              "cd: share of the first violation at which the iterations end; mu: the least improvement in 10 iterations.")
          .add("max_iter", &P::max_iter, at_least(1), "Most iterations.")
          .random_state(&P::random_state)
          .add("alpha_W", &P::alpha_W, at_least(0), "Penalty of W, times the number of columns.")
          .any("alpha_H", &P::alpha_H, {number_form(at_least(0)), string_form({"same"})},
               "Penalty of H, times the number of rows; same: as alpha_W.")
          .add("l1_ratio", &P::l1_ratio, between(0, 1), "Share of the penalties that is of sums, the rest of squares.")
          .ignore("verbose", 0, {integer_form(), boolean_form()})
          .add("shuffle", &P::shuffle, "cd: whether the components take turns in a random order.");
  return set;
}

template <class T>
void require_no_negative(const Context& ctx, const Samples<T>& X) {
  const Ranges ranges = column_ranges(ctx, X);
  for (std::int64_t j = 0; j < X.n_cols(); ++j) {
    const double least = ranges.minimum[static_cast<std::size_t>(j)];
    require(least >= 0, schema::ErrorCode::kBadData, "{}: column {} has {}, must have no negative value", kName,
            X.table->column_label(j), least);
  }
}

template <class T>
double mean_of(const Context& ctx, const Samples<T>& X) {
  const std::vector<double> means = column_means(ctx, X);
  return std::max(0.0, std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size()));
}

// W (n x k) of W'.
template <class T>
Samples<T> rows_of_parts(const Context& ctx, MatrixView<const T> W) {
  std::vector<T> unit(static_cast<std::size_t>(W.rows * W.rows));
  for (std::int64_t i = 0; i < W.rows; ++i) unit[static_cast<std::size_t>(i * (W.rows + 1))] = T{1};
  const Matrix<T> identity(ctx.memory(), W.rows, W.rows, unit);
  Matrix<T> out(ctx.memory(), W.cols, W.rows);
  ctx.ops<T>().linear->gemm(Transpose::kYes, Transpose::kNo, T{1}, W, identity.view(), T{0}, out.view());
  return samples_of(std::move(out));
}

}   // namespace

template <class T>
NMF<T>::NMF(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (params_.solver == "cd" && params_.beta_loss != "frobenius")
    refuse_param(kName, "beta_loss", params_.beta_loss, "must be \"frobenius\" with solver=\"cd\"");
}

template <class T>
schema::EstimatorInfo NMF<T>::info() {
  return {
      .name = kName,
      .kind = "transformer",
      .family = "decomposition",
      .doc = "Rows as sums of parts, none of which is negative.",
      .params = param_set().infos(),
      .attributes = {"components_", "n_components_", "n_iter_", "reconstruction_err_"},
      .deviations = {
          "init \"custom\" and beta_loss \"itakura-saito\" or a number are refused.",
          "init takes the singular vectors themselves, not those of a random projection, and draws from Philox, not from "
          "numpy's generator.",
          "transform() with beta_loss \"kullback-leibler\" adds the penalty of sums once; scikit-learn adds it again in each iteration.",
          "Sparse data are made dense, up to 134,217,728 cells."}};
}

template <class T>
MemoryNeed NMF<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = std::min(memory::kMost, memory::integer(step, "n_components", X.cols));
  const bool is_kullback = memory::text(step, "beta_loss") == "kullback-leibler";
  const std::int64_t small = std::min(X.rows, X.cols);
  const std::int64_t spectrum =
      X.rows < X.cols ? 4 * memory::doubles(X) + 2 * memory::square(X.rows) : 4 * memory::square(X.cols);
  const std::int64_t groups = bytes_of(kMostNmfGroups, X.cols + k, k * memory::kDouble) * 2;
  const std::int64_t blocks =
      std::min(memory::doubles(X) + bytes_of(X.rows, k, 24), bytes_of(kMostNmfGroups * 512, X.cols + 3 * k, 8)) *
      (is_kullback ? 3 : 1);
  const std::int64_t factors = bytes_of(X.rows + X.cols, k, X.value_bytes);
  return memory::makes(
      X, k, spectrum + groups + blocks + 4 * factors + memory::block(X) + 8 * memory::square(std::min(small, k)));
}

template <class T>
LegacyRandom NMF<T>::random(const Context& ctx) const {
  return LegacyRandom(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
}

template <class T>
NmfOptions NMF<T>::options(std::int64_t n, std::int64_t d) const {
  const double* const own = std::get_if<double>(&params_.alpha_H.data);
  const double of_w = params_.alpha_W * static_cast<double>(d),
               of_h = (own ? *own : params_.alpha_W) * static_cast<double>(n);
  return {.by_coordinates = params_.solver == "cd",
          .is_kullback = params_.beta_loss == "kullback-leibler",
          .shuffles = params_.shuffle,
          .max_iter = params_.max_iter,
          .tol = params_.tol,
          .l1_w = of_w * params_.l1_ratio,
          .l2_w = of_w * (1 - params_.l1_ratio),
          .l1_h = of_h * params_.l1_ratio,
          .l2_h = of_h * (1 - params_.l1_ratio)};
}

template <class T>
void NMF<T>::warn_of_no_convergence(const Context& ctx, std::int64_t n_iter) const {
  if (n_iter == params_.max_iter && params_.tol > 0)
    ctx.warn("NMF: no convergence within max_iter = " + std::to_string(params_.max_iter) +
             " iterations; raise it or tol");
}

template <class T>
Matrix<T> NMF<T>::fit_rows(const Context& ctx, const Samples<T>& X) {
  require_rows(kName, X);
  ctx.check_stop();
  require_no_negative(ctx, X);
  const std::int64_t n = X.n_rows(), d = X.n_cols(), small = std::min(n, d);
  const auto* const wanted = std::get_if<std::int64_t>(&params_.n_components.data);
  n_features_ = d, n_components_ = wanted ? *wanted : d;
  const std::string init = params_.init.value_or(n_components_ <= small ? "nndsvda" : "random");
  require(init == "random" || n_components_ <= small, schema::ErrorCode::kBadData,
          "{}: n_components is {}, must be at most {} with init \"{}\", the smaller of {} rows and {} columns", kName,
          n_components_, small, init, n, d);
  if (params_.solver == "mu" && init == "nndsvd")
    ctx.warn("NMF: with solver \"mu\" the zeros of init \"nndsvd\" stay; use \"nndsvda\" or \"nndsvdar\"");
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  const auto seed = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed;
  NmfStart<T> start = nmf_start(ctx, X, values, init, n_components_, mean_of(ctx, X), seed);
  NmfSolver<T> solver(ctx, values, options(n, d), n_components_);
  LegacyRandom draws = random(ctx);
  n_iter_ = solver.run(start.W.view(), start.H.view(), draws);
  warn_of_no_convergence(ctx, n_iter_);
  error_ = solver.error(std::as_const(start.W).view(), std::as_const(start.H).view());
  components_ = start.H.to_host();
  require(std::ranges::all_of(components_, [](T value) { return value - value == 0; }), schema::ErrorCode::kBadData,
          "{}: the products of the data leave the numbers of their type; scale the columns", kName);
  return std::move(start.W);
}

template <class T>
void NMF<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  fit_rows(ctx, X);
}

template <class T>
Samples<T> NMF<T>::fit_transform(const Context& ctx, const Samples<T>& X, const Target&) {
  const Matrix<T> W = fit_rows(ctx, X);
  return rows_of_parts(ctx, W.view());
}

template <class T>
Samples<T> NMF<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  require_no_negative(ctx, X);
  Matrix<T> scratch, H(ctx.memory(), n_components_, n_features_, components_);
  const MatrixView<const T> values = X.values(ctx, scratch);
  NmfOptions chosen = options(X.n_rows(), n_features_);
  chosen.updates_h = false;
  const T start =
      chosen.by_coordinates ? T{0} : static_cast<T>(std::sqrt(mean_of(ctx, X) / static_cast<double>(n_components_)));
  Matrix<T> W(ctx.memory(), n_components_, X.n_rows());
  W.zero();
  const Matrix<T> filling(ctx.memory(), 1, 1, std::vector<T>{start});
  ctx.ops<T>().maps->combine(Binary::kAdd, std::as_const(W).view(), filling.view(), W.view());
  NmfSolver<T> solver(ctx, values, chosen, n_components_);
  LegacyRandom draws = random(ctx);
  warn_of_no_convergence(ctx, solver.run(W.view(), H.view(), draws));
  return rows_of_parts(ctx, std::as_const(W).view());
}

template <class T>
schema::ValueMap NMF<T>::attributes() const {
  return {{"components_", rows_value({components_.begin(), components_.end()}, n_features_)},
          {"n_components_", n_components_},
          {"n_iter_", n_iter_},
          {"reconstruction_err_", error_}};
}

template <class T>
void NMF<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 1, kMaxSize);
  archive.field("components", components_, n_components_, n_features_);
  archive.expect_finite("components", components_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.field("reconstruction_err", error_);
}

template class NMF<float>;
template class NMF<double>;

}   // namespace kedge::engine
