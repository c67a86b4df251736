// KernelDensity: distances, the kernel's function of each, and weighted sums, block by block.
#include "engine/estimators/neighbors/kernel_density.h"

#include <math.h>   // lgamma_r

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = KernelDensityParams;
using Numbers = std::vector<double>;
constexpr const char* kName = "KernelDensity";
constexpr std::int64_t kBlockEntries = std::int64_t{1} << 22, kLeastRows = 16;   // of queries x points, 32 MiB

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("bandwidth", &P::bandwidth, {number_form(above(0)), string_form({"scott", "silverman"})},
               "Width of the kernels, or the rule that finds it.")
          .add("algorithm", &P::algorithm, {"auto", "kd_tree", "ball_tree"},
               "A hint: all pairs are summed with any value.")
          .add("kernel", &P::kernel, {"gaussian", "tophat", "epanechnikov", "exponential", "linear"}, "The kernel.")
          .add("metric", &P::metric,
               {"euclidean", "l2", "minkowski", "manhattan", "l1", "cityblock", "chebyshev", "infinity"}, "Distance.")
          .ignore("atol", 0.0, {number_form(at_least(0))})
          .ignore("rtol", 0.0, {number_form(at_least(0))})
          .ignore("breadth_first", true, {boolean_form()})
          .ignore("leaf_size", 40, {integer_form(at_least(1))})
          .ignore("metric_params", nullptr, {null_form()});
  return set;
}

Distance distance_of(const std::string& metric) {
  if (metric == "manhattan" || metric == "l1" || metric == "cityblock") return {Metric::kManhattan};
  if (metric == "chebyshev" || metric == "infinity") return {Metric::kChebyshev};
  return {};
}

double log_gamma(double x) {   // std::lgamma writes a global sign
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The logarithm of what the kernel of width h is divided by, so that it is a density in d columns.
double log_norm(const std::string& kernel, double h, double d) {
  const auto log_ball = [](double n) { return 0.5 * n * std::log(std::numbers::pi) - log_gamma(0.5 * n + 1); };
  double factor = 0.5 * d * std::log(2 * std::numbers::pi);
  if (kernel == "tophat") factor = log_ball(d);
  if (kernel == "epanechnikov") factor = log_ball(d) + std::log(2 / (d + 2));
  if (kernel == "exponential") factor = std::log(2 * std::numbers::pi) + log_ball(d - 2) + log_gamma(d);
  if (kernel == "linear") factor = log_ball(d) - std::log(d + 1);
  return factor + d * std::log(h);
}

bool has_tails(const std::string& kernel) {
  return kernel == "gaussian" || kernel == "exponential";
}

// The kernels of one block of queries.
class Kernels {
 public:
  Kernels(const Context& ctx, const std::string& kernel, double h)
      : ops_(ctx.ops<double>()),
        kernel_(kernel),
        h_(h),
        minus_(ctx.memory(), 1, 1, Numbers{-1}),
        one_(ctx.memory(), 1, 1, Numbers{1}),
        zero_(ctx.memory(), 1, 1, Numbers{0}),
        inverse_(ctx.memory(), 1, 1, Numbers{1 / h}) {}

  // Distances become the kernel's exponents: what exp(-x) is taken of.
  void scale(MatrixView<double> distances) {
    if (kernel_ == "gaussian")
      return ops_.maps->map(Unary::kSquare, 1 / (h_ * std::numbers::sqrt2), distances, distances);
    if (kernel_ == "epanechnikov") return ops_.maps->map(Unary::kSquare, 1 / h_, distances, distances);
    ops_.maps->combine(Binary::kMultiply, distances, inverse_.view(), distances);
  }

  // Exponents, or the multiples of the width, become kernels; `least` (queries x 1) is taken off exponents first.
  void apply(MatrixView<double> K, MatrixView<const double> least) {
    if (has_tails(kernel_)) {
      ops_.maps->combine(Binary::kSubtract, K, least, K);
      return ops_.maps->map(Unary::kExp, -1, K, K);
    }
    ops_.maps->combine(Binary::kSubtract, K, one_.view(), K);
    ops_.maps->combine(Binary::kMultiply, K, minus_.view(), K);
    if (kernel_ == "tophat") return ops_.maps->map_columns(ColumnMap::kAbove, {}, {}, K, K);
    ops_.maps->combine(Binary::kMaximum, K, zero_.view(), K);
  }

 private:
  Backend<double>& ops_;
  std::string kernel_;
  double h_;
  Matrix<double> minus_, one_, zero_, inverse_;
};

}   // namespace

template <class T>
KernelDensity<T>::KernelDensity(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo KernelDensity<T>::info() {
  return {.name = kName,
          .kind = "density",
          .family = "neighbors",
          .doc = "Density of rows, as a sum of kernels around the fitted rows.",
          .params = param_set().infos(),
          .attributes = {"bandwidth_"},
          .deviations = {"All pairs are summed exactly: atol and rtol are ignored.",
                         "The kernel cosine, other metrics than the listed ones and sample are not offered."}};
}

template <class T>
MemoryNeed KernelDensity<T>::memory(const SampleShape& X, const schema::Step&) {
  const std::int64_t rows =
      std::clamp<std::int64_t>(kBlockEntries / std::max<std::int64_t>(X.rows, 1), kLeastRows, 4096);
  return {.work = 2 * memory::doubles(X) + bytes_of(std::min(rows, X.rows), X.rows + X.cols, memory::kDouble) +
                  X.rows * 4 * memory::kDouble,
          .minimum = memory::doubles(X)};
}

template <class T>
void KernelDensity<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  n_rows_ = X.n_rows(), n_features_ = X.n_cols(), weights_ = y.weights, mean_ = column_means(ctx, X);
  const double n = static_cast<double>(n_rows_), d = static_cast<double>(n_features_);
  if (const auto* const rule = std::get_if<std::string>(&params_.bandwidth.data))
    bandwidth_ = std::pow(*rule == "scott" ? n : n * (d + 2) / 4, -1 / (d + 4));
  else bandwidth_ = std::get<double>(params_.bandwidth.data);
  require(weights_.empty() || std::ranges::any_of(weights_, [](double w) { return w > 0; }),
          schema::ErrorCode::kBadData, "{}: all rows have the weight 0", kName);
  points_ = Matrix<double>(ctx.memory(), n_rows_, n_features_);
  const CentredDesign<T> centred(ctx, X, mean_);
  ctx.ops<T>().design->gather(centred.design, 0, points_.view());
}

template <class T>
Matrix<double> KernelDensity<T>::row_scores(const Context& ctx, const Samples<T>& X, std::string_view) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t n = X.n_rows(),
                     step = std::min(n, std::clamp<std::int64_t>(kBlockEntries / n_rows_, kLeastRows, 4096));
  Backend<double>& ops = ctx.ops<double>();
  const Distance distance = distance_of(params_.metric);
  const CentredDesign<T> centred(ctx, X, mean_);
  const bool is_relative = has_tails(params_.kernel);
  const auto index = is_relative && n > 0 ? ops.distances->index_points(points_.view(), distance) : nullptr;
  Numbers share = weights_.empty() ? Numbers(static_cast<std::size_t>(n_rows_), 1.0) : weights_;
  const double total = std::accumulate(share.begin(), share.end(), 0.0);
  const Matrix<double> weights(ctx.memory(), n_rows_, 1, share);
  Matrix<double> out(ctx.memory(), n, 1), values(ctx.memory(), step, n_features_), K(ctx.memory(), step, n_rows_),
      least(ctx.memory(), step, 1);
  Matrix<std::int32_t> nearest(ctx.memory(), step, 1);
  Kernels kernels(ctx, params_.kernel, bandwidth_);
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, n - first);
    const auto rows = [&](Matrix<double>& of) { return of.view().row_range(0, count); };
    const MatrixView<double> sums = out.view().row_range(first, count);
    ctx.ops<T>().design->gather(centred.design, first, rows(values));
    ops.distances->pairwise(rows(values), points_.view(), distance, rows(K));
    kernels.scale(rows(K));
    if (is_relative) {
      index->nearest(rows(values), 1, nearest.view().row_range(0, count), rows(least));
      if (distance.metric == Metric::kEuclidean) ops.maps->map(Unary::kSqrt, 1, rows(least), rows(least));
      kernels.scale(rows(least));
    }
    kernels.apply(rows(K), rows(least));
    ops.linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, rows(K), weights.view(), 0.0, sums);
    ops.maps->map(Unary::kLog, 1 / total, sums, sums);
    if (is_relative) ops.maps->combine(Binary::kSubtract, sums, rows(least), sums);
  }
  const Matrix<double> norm(ctx.memory(), 1, 1,
                            Numbers{log_norm(params_.kernel, bandwidth_, static_cast<double>(n_features_))});
  ops.maps->combine(Binary::kSubtract, std::as_const(out).view(), norm.view(), out.view());
  return out;
}

template <class T>
void KernelDensity<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_rows", n_rows_, 1, kMaxSize);
  archive.field("bandwidth", bandwidth_);
  archive.expect(bandwidth_ > 0, "bandwidth", "is not above 0");
  archive.field("mean", mean_, archive.n_features());
  archive.field("weights", weights_, kAnySize);
  archive.expect(weights_.empty() || static_cast<std::int64_t>(weights_.size()) == n_rows_, "weights",
                 "are not one for each row");
  archive.field("points", points_, n_rows_, archive.n_features());
}

template class KernelDensity<float>;
template class KernelDensity<double>;

}   // namespace kedge::engine
