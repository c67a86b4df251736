// NMF's iterations on the ops of a backend: small products and maps of blocks that stay in the cache.
#include "engine/estimators/decomposition/nmf_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/backend/host/side_by_side.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kCachedRows = 512;                            // of a block on a processor
constexpr std::int64_t kGroup = 5;                                   // components whose moves are made one by one
constexpr double kEpsilon = std::numeric_limits<float>::epsilon();   // scikit-learn's least divisor of X / WH
enum Constants { kZero, kTiny, kL1W, kL2W, kL1H, kL2H, kDivisor, kOne, kLeast, kConstants };

template <class T>
std::vector<T> constants_of(const NmfOptions& options) {
  std::vector<double> values(kConstants);
  values[kOne] = 1, values[kLeast] = std::numeric_limits<T>::min(), values[kDivisor] = kEpsilon;
  values[kTiny] = sizeof(T) == sizeof(double) ? 1e-100 : 1e-20;   // a divisor of what is 0: the quotient stays finite
  values[kL1W] = options.l1_w, values[kL2W] = options.l2_w, values[kL1H] = options.l1_h, values[kL2H] = options.l2_h;
  return {values.begin(), values.end()};
}

template <class T>
std::vector<T> unit_matrix(std::int64_t k) {
  std::vector<T> values(static_cast<std::size_t>(k * k));
  for (std::int64_t i = 0; i < k; ++i) values[static_cast<std::size_t>(i * (k + 1))] = T{1};
  return values;
}

// 0 where row and column are in one group, otherwise 1.
template <class T>
std::vector<T> without_groups(std::int64_t k) {
  std::vector<T> values(static_cast<std::size_t>(k * k));
  for (std::int64_t i = 0; i < k * k; ++i)
    values[static_cast<std::size_t>(i)] = i / k / kGroup == i % k / kGroup ? T{0} : T{1};
  return values;
}

// Columns first .. first + count - 1.
template <class T>
MatrixView<T> columns(MatrixView<T> M, std::int64_t first, std::int64_t count) {
  return {M.data + first, M.rows, count, M.stride};
}

}   // namespace

std::int64_t nmf_block_rows(const Context& ctx, std::int64_t n, std::int64_t d) {
  return std::clamp<std::int64_t>(block_rows(ctx, kCachedRows, d), 1, std::max<std::int64_t>(n, 1));
}

template <class T>
NmfSolver<T>::NmfSolver(const Context& ctx, MatrixView<const T> X, const NmfOptions& options, std::int64_t k)
    : ctx_(ctx),
      X_(X),
      options_(options),
      k_(k),
      block_(nmf_block_rows(ctx, X.rows, X.cols)),
      n_blocks_((X.rows + block_ - 1) / block_),
      n_groups_(std::min(n_blocks_, kMostNmfGroups)) {
  Memory& memory = ctx.memory();
  const std::int64_t d = X.cols, longest = std::max(block_, d);
  identity_ = Matrix<T>(memory, k, k, unit_matrix<T>(k));
  outside_ = Matrix<T>(memory, k, k, without_groups<T>(k));
  ones_ = Matrix<T>(memory, longest, 1, std::vector<T>(static_cast<std::size_t>(longest), T{1}));
  constants_ = Matrix<T>(memory, kConstants, 1, constants_of<T>(options));
  least_ = Array<double>(memory, std::vector<double>(static_cast<std::size_t>(d), kEpsilon));
  vanishing_ =
      Array<double>(memory, std::vector<double>(static_cast<std::size_t>(d), std::numeric_limits<double>::epsilon()));
  scaled_ = Matrix<T>(memory, k, d), shift_ = Matrix<T>(memory, k, 1);
  for (Step* const step : {&step_, &step_h_})
    step->gram = Matrix<T>(memory, k, k), step->moves = Matrix<T>(memory, k, k),
    step->outside = Matrix<T>(memory, k, k), step->diagonal = Matrix<T>(memory, k, 1),
    step->inverse = Matrix<T>(memory, k, 1);
  const bool is_parallel = ctx.device.traits().concurrent_fits > 1;
  buffers_.resize(static_cast<std::size_t>(is_parallel ? n_groups_ : 1));
  for (Buffers& one : buffers_) {
    one.P = Matrix<T>(memory, k, block_), one.before = Matrix<T>(memory, k, block_),
    one.Q = Matrix<T>(memory, k, block_);
    one.made = Matrix<T>(memory, block_, d);
    if (options.is_kullback) one.ratio = Matrix<T>(memory, block_, d), one.kept = Matrix<T>(memory, block_, d);
  }
  sums_.resize(static_cast<std::size_t>(n_groups_));
  for (Sums& one : sums_)
    one.products = Matrix<T>(memory, k, d), one.gram = Matrix<T>(memory, k, k), one.violation = Matrix<T>(memory, k, 1),
    one.totals = Matrix<T>(memory, k, 1);
  of_h_.P = Matrix<T>(memory, k, d), of_h_.before = Matrix<T>(memory, k, d), of_h_.Q = Matrix<T>(memory, k, d);
}

// The blocks of a group in order, the groups side by side where the device gains from it.
template <class T>
void NmfSolver<T>::for_blocks(const Visit& visit) {
  const auto run = [&](std::int64_t group, Buffers& buffers) {
    for (std::int64_t b = group * n_blocks_ / n_groups_; b < (group + 1) * n_blocks_ / n_groups_; ++b) {
      ctx_.check_stop();
      visit(buffers, group, b * block_, std::min(block_, X_.rows - b * block_));
    }
  };
  if (buffers_.size() > 1)
    side_by_side(n_groups_, [&](std::int64_t group) { run(group, buffers_[static_cast<std::size_t>(group)]); });
  else
    for (std::int64_t group = 0; group < n_groups_; ++group) run(group, buffers_[0]);
}

// With a step of 1 / diagonal a coordinate is its target, P, less what the others explain: row t of `moves` is row t of
// the unit matrix less that of gram / diagonal. Where the diagonal is 0 the coordinate stays.
template <class T>
void NmfSolver<T>::prepare(Step& step, double l2) {
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  const MatrixView<T> diagonal(step.gram.data(), k_, 1, k_ + 1), inverse = step.inverse.view();
  if (l2 > 0) maps.combine(Binary::kAdd, diagonal, constant(&step == &step_ ? kL2W : kL2H), diagonal);
  maps.combine(Binary::kMaximum, diagonal, constant(kZero), step.diagonal.view());
  maps.map_columns(ColumnMap::kAbove, {}, {}, std::as_const(step.diagonal).view(), shift_.view());
  maps.combine(Binary::kMaximum, diagonal, constant(kLeast), inverse);
  maps.combine(Binary::kDivide, std::as_const(shift_).view(), inverse, inverse);
  maps.combine(Binary::kMultiply, std::as_const(step.gram).view(), inverse, step.moves.view());
  maps.combine(Binary::kSubtract, std::as_const(identity_).view(), std::as_const(step.moves).view(), step.moves.view());
  maps.combine(Binary::kMultiply, std::as_const(step.moves).view(), std::as_const(outside_).view(),
               step.outside.view());
}

// P (k x columns) is the targets; it becomes each coordinate before it is cut at 0. In order, what other groups explain
// is added for a group at once, by one product.
template <class T>
void NmfSolver<T>::sweep(const Step& step, const std::vector<std::int64_t>& order, MatrixView<T> W, MatrixView<T> P) {
  LinearOps<T>& linear = *ctx_.ops<T>().linear;
  for (const std::int64_t t : order) {
    const std::int64_t begin = options_.shuffles ? 0 : t - t % kGroup;
    const std::int64_t size = options_.shuffles ? k_ : std::min(kGroup, k_ - begin);
    if (!options_.shuffles && t == begin && k_ > kGroup)
      linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, step.outside.view().row_range(begin, size), W, T{1},
                  P.row_range(begin, size));
    linear.gemm(Transpose::kNo, Transpose::kNo, T{1},
                MatrixView<const T>(step.moves.data() + t * k_ + begin, 1, size, k_), W.row_range(begin, size), T{1},
                P.row_range(t, 1));
    ctx_.ops<T>().maps->combine(Binary::kMaximum, P.row_range(t, 1), constant(kZero), W.row_range(t, 1));
  }
}

// sum = keep * sum + the sizes of the projected gradients at each step: of a coordinate at 0 those alone that raise it.
template <class T>
void NmfSolver<T>::add_violation(const Step& step, MatrixView<T> before, MatrixView<T> P, MatrixView<T> Q, T keep,
                                 MatrixView<T> sum) {
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  maps.combine(Binary::kSubtract, P, before, P);   // the negative gradient, but for the diagonal
  maps.map_columns(ColumnMap::kAbove, {}, {}, before, before);
  maps.map(Unary::kAbs, 1, P, Q);
  maps.combine(Binary::kMultiply, Q, before, Q);
  maps.combine(Binary::kMaximum, Q, P, Q);
  maps.combine(Binary::kMultiply, Q, step.diagonal.view(), Q);
  ctx_.ops<T>().linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, Q, ones_.view().row_range(0, Q.cols), keep, sum);
}

template <class T>
std::vector<std::int64_t> NmfSolver<T>::order(LegacyRandom& random) const {
  if (options_.shuffles) return random.permutation(k_);
  std::vector<std::int64_t> all(static_cast<std::size_t>(k_));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

template <class T>
void NmfSolver<T>::coordinate_block(Buffers& buffers, Sums& sums, MatrixView<const T> X, MatrixView<T> W,
                                    const std::vector<std::int64_t>& order, bool is_first) {
  LinearOps<T>& linear = *ctx_.ops<T>().linear;
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  const auto P = columns(buffers.P.view(), 0, X.rows), before = columns(buffers.before.view(), 0, X.rows),
             Q = columns(buffers.Q.view(), 0, X.rows);
  const T keep = is_first ? T{0} : T{1};
  linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, std::as_const(scaled_).view(), X, T{0}, P);
  if (options_.l1_w > 0) maps.combine(Binary::kSubtract, P, std::as_const(shift_).view(), P);
  maps.combine(Binary::kMaximum, W, constant(kZero), before);
  sweep(step_, order, W, P);
  add_violation(step_, before, P, Q, keep, sums.violation.view());
  if (!options_.updates_h) return;
  linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, W, X, keep, sums.products.view());
  linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, W, W, keep, sums.gram.view());
}

template <class T>
typename NmfSolver<T>::Sums& NmfSolver<T>::total() {
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  const auto add = [&](Matrix<T>& to, const Matrix<T>& from) {
    maps.combine(Binary::kAdd, std::as_const(to).view(), from.view(), to.view());
  };
  for (std::size_t group = 1; group < sums_.size(); ++group) {
    add(sums_[0].violation, sums_[group].violation);
    if (!options_.updates_h) continue;
    add(sums_[0].products, sums_[group].products), add(sums_[0].gram, sums_[group].gram),
        add(sums_[0].totals, sums_[group].totals);
  }
  return sums_[0];
}

// W for H, then H for W; the sum of the violations.
template <class T>
double NmfSolver<T>::coordinate_iteration(MatrixView<T> W, MatrixView<T> H, LegacyRandom& random) {
  LinearOps<T>& linear = *ctx_.ops<T>().linear;
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, H, H, T{0}, step_.gram.view());
  prepare(step_, options_.l2_w);
  maps.combine(Binary::kMultiply, H, std::as_const(step_.inverse).view(), scaled_.view());
  if (options_.l1_w > 0)
    maps.combine(Binary::kMultiply, std::as_const(step_.inverse).view(), constant(kL1W), shift_.view());
  const std::vector<std::int64_t> of_w = order(random);
  for_blocks([&](Buffers& buffers, std::int64_t group, std::int64_t first, std::int64_t count) {
    const bool is_first = first == group * n_blocks_ / n_groups_ * block_;
    coordinate_block(buffers, sums_[static_cast<std::size_t>(group)], X_.row_range(first, count),
                     columns(W, first, count), of_w, is_first);
  });
  Sums& sums = total();
  if (options_.updates_h) {
    maps.combine(Binary::kMaximum, std::as_const(sums.gram).view(), constant(kZero), step_h_.gram.view());
    prepare(step_h_, options_.l2_h);
    const MatrixView<T> P = of_h_.P.view();
    if (options_.l1_h > 0)
      maps.combine(Binary::kSubtract, std::as_const(sums.products).view(), constant(kL1H), sums.products.view());
    maps.combine(Binary::kMultiply, std::as_const(sums.products).view(), std::as_const(step_h_.inverse).view(), P);
    maps.combine(Binary::kMaximum, H, constant(kZero), of_h_.before.view());
    sweep(step_h_, order(random), H, P);
    add_violation(step_h_, of_h_.before.view(), P, of_h_.Q.view(), T{1}, sums.violation.view());
  }
  double violation = 0;
  for (const T one : sums.violation.to_host()) violation += static_cast<double>(one);
  return violation;
}

template <class T>
void NmfSolver<T>::ratio_of(MatrixView<const T> X, MatrixView<const T> W, MatrixView<const T> H, MatrixView<T> out) {
  ctx_.ops<T>().linear->gemm(Transpose::kYes, Transpose::kNo, T{1}, W, H, T{0}, out);
  ctx_.ops<T>().maps->combine(Binary::kMaximum, out, constant(kDivisor), out);
  ctx_.ops<T>().maps->combine(Binary::kDivide, X, out, out);
}

template <class T>
void NmfSolver<T>::multiply(MatrixView<T> F, MatrixView<T> numerator, MatrixView<T> denominator, MatrixView<T> scratch,
                            bool is_w) {
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  const double l1 = is_w ? options_.l1_w : options_.l1_h, l2 = is_w ? options_.l2_w : options_.l2_h;
  maps.combine(Binary::kMultiply, F, constant(is_w ? kL2W : kL2H), scratch);
  if (l2 > 0 || denominator.cols == 1) {
    maps.combine(Binary::kAdd, scratch, denominator, scratch);
    denominator = scratch;
  }
  if (l1 > 0) maps.combine(Binary::kAdd, denominator, constant(is_w ? kL1W : kL1H), denominator);
  maps.combine(Binary::kMaximum, denominator, constant(kTiny), denominator);
  maps.combine(Binary::kDivide, numerator, denominator, numerator);
  maps.combine(Binary::kMultiply, F, numerator, F);
}

template <class T>
void NmfSolver<T>::factor_block(Buffers& buffers, Sums& sums, MatrixView<const T> X, MatrixView<T> W,
                                MatrixView<const T> H, bool is_first) {
  LinearOps<T>& linear = *ctx_.ops<T>().linear;
  const auto P = columns(buffers.P.view(), 0, X.rows), divisor = columns(buffers.before.view(), 0, X.rows),
             scratch = columns(buffers.Q.view(), 0, X.rows);
  const T keep = is_first ? T{0} : T{1};
  MatrixView<const T> explained = X;
  if (options_.is_kullback) {
    const MatrixView<T> ratio = buffers.made.view().row_range(0, X.rows);
    ratio_of(X, W, H, ratio);
    linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, H, ratio, T{0}, P);
    multiply(W, P, shift_.view(), scratch, true);
    if (options_.updates_h) ratio_of(X, W, H, ratio);
    explained = ratio;
  } else {
    linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, H, X, T{0}, P);
    linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, std::as_const(step_.gram).view(), W, T{0}, divisor);
    multiply(W, P, divisor, scratch, true);
  }
  if (!options_.updates_h) return;
  linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, W, explained, keep, sums.products.view());
  if (options_.is_kullback)
    linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, W, ones_.view().row_range(0, X.rows), keep, sums.totals.view());
  else linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, W, W, keep, sums.gram.view());
}

template <class T>
void NmfSolver<T>::factor_iteration(MatrixView<T> W, MatrixView<T> H) {
  LinearOps<T>& linear = *ctx_.ops<T>().linear;
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  if (options_.is_kullback)
    linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, H, ones_.view().row_range(0, H.cols), T{0}, shift_.view());
  else linear.gemm(Transpose::kNo, Transpose::kYes, T{1}, H, H, T{0}, step_.gram.view());
  for_blocks([&](Buffers& buffers, std::int64_t group, std::int64_t first, std::int64_t count) {
    const bool is_first = first == group * n_blocks_ / n_groups_ * block_;
    factor_block(buffers, sums_[static_cast<std::size_t>(group)], X_.row_range(first, count), columns(W, first, count),
                 H, is_first);
  });
  if (!options_.updates_h) return;
  Sums& sums = total();
  MatrixView<T> divisor = of_h_.before.view();
  if (options_.is_kullback) {   // the sums of W, 1 where they are 0
    maps.map_columns(ColumnMap::kAbove, {}, {}, std::as_const(sums.totals).view(), sums.violation.view());
    maps.combine(Binary::kSubtract, std::as_const(sums.totals).view(), std::as_const(sums.violation).view(),
                 sums.totals.view());
    maps.combine(Binary::kAdd, std::as_const(sums.totals).view(), constant(kOne), sums.totals.view());
    divisor = sums.totals.view();
  } else {
    linear.gemm(Transpose::kNo, Transpose::kNo, T{1}, std::as_const(sums.gram).view(), H, T{0}, divisor);
  }
  multiply(H, sums.products.view(), divisor, of_h_.Q.view(), false);
  if (!options_.is_kullback) return;
  maps.map_columns(ColumnMap::kAbove, vanishing_.view(), {}, H, of_h_.Q.view());
  maps.combine(Binary::kMultiply, H, std::as_const(of_h_.Q).view(), H);
}

// sums[j]: of column j of a block the squared differences, or x log(x / wh) - x + wh.
template <class T>
void NmfSolver<T>::divergence_block(Buffers& buffers, MatrixView<const T> X, MatrixView<const T> W,
                                    MatrixView<const T> H, VectorView<double> sums) {
  MapOps<T>& maps = *ctx_.ops<T>().maps;
  const MatrixView<T> made = buffers.made.view().row_range(0, X.rows);
  ctx_.ops<T>().linear->gemm(Transpose::kYes, Transpose::kNo, T{1}, W, H, T{0}, made);
  if (!options_.is_kullback) {
    maps.combine(Binary::kSubtract, X, made, made);
    maps.map(Unary::kSquare, 1, made, made);
    return ctx_.ops<T>().rows->column_sums(made, sums);
  }
  const MatrixView<T> ratio = buffers.ratio.view().row_range(0, X.rows),
                      kept = buffers.kept.view().row_range(0, X.rows);
  maps.combine(Binary::kMaximum, made, constant(kDivisor), kept);
  maps.combine(Binary::kMaximum, X, constant(kDivisor), ratio);
  maps.combine(Binary::kDivide, ratio, kept, ratio);
  maps.map(Unary::kLog, 1, ratio, ratio);
  maps.map_columns(ColumnMap::kAbove, least_.view(), {}, X, kept);   // smaller x count as 0
  maps.combine(Binary::kMultiply, kept, X, kept);
  maps.combine(Binary::kMultiply, ratio, kept, ratio);
  maps.combine(Binary::kSubtract, ratio, kept, ratio);
  maps.combine(Binary::kAdd, ratio, made, ratio);
  ctx_.ops<T>().rows->column_sums(ratio, sums);
}

template <class T>
double NmfSolver<T>::error(MatrixView<const T> W, MatrixView<const T> H) {
  Matrix<double> sums(ctx_.memory(), n_blocks_, X_.cols);
  for_blocks([&](Buffers& buffers, std::int64_t, std::int64_t first, std::int64_t count) {
    divergence_block(buffers, X_.row_range(first, count), columns(W, first, count), H,
                     VectorView<double>(sums.data() + first / block_ * X_.cols, X_.cols));
  });
  const std::vector<double> host = sums.to_host();
  const double sum = std::accumulate(host.begin(), host.end(), 0.0);
  return std::sqrt(std::max(0.0, options_.is_kullback ? 2 * sum : sum));
}

// Null where a step goes by blocks.
template <class T>
std::unique_ptr<FactorSteps<T>> NmfSolver<T>::whole_steps(MatrixView<T> W, MatrixView<T> H) {
  FactorOps<T>* const ops = options_.is_kullback ? nullptr : factor_ops(*ctx_.ops<T>().factorise);
  if (!ops) return nullptr;
  return ops->factor_steps({.X = X_,
                            .W = W,
                            .H = H,
                            .by_coordinates = options_.by_coordinates,
                            .updates_h = options_.updates_h,
                            .l1_w = options_.l1_w,
                            .l2_w = options_.l2_w,
                            .l1_h = options_.l1_h,
                            .l2_h = options_.l2_h});
}

template <class T>
double NmfSolver<T>::whole_step(FactorSteps<T>& whole, LegacyRandom& random) {
  ctx_.check_stop();
  if (!options_.shuffles) return whole.step({}, {});
  const std::vector<std::int64_t> of_w = order(random);
  return whole.step(of_w, options_.updates_h ? order(random) : of_w);
}

template <class T>
std::int64_t NmfSolver<T>::run(MatrixView<T> W, MatrixView<T> H, LegacyRandom& random) {
  constexpr std::int64_t kBetweenErrors = 10;   // iterations by factors
  const std::unique_ptr<FactorSteps<T>> whole = whole_steps(W, H);
  double start = options_.by_coordinates ? 0 : error(W, H), before = start;
  for (std::int64_t i = 1; i <= options_.max_iter; ++i) {
    ctx_.progress("iterations", i, options_.max_iter, "iterations");
    if (options_.by_coordinates) {
      const double violation = whole ? whole_step(*whole, random) : coordinate_iteration(W, H, random);
      if (i == 1) start = violation;
      if (start == 0 || violation / start <= options_.tol) return i;
      continue;
    }
    if (whole) whole->step({}, {});
    else factor_iteration(W, H);
    if (options_.tol == 0 || i % kBetweenErrors != 0) continue;
    const double now = error(W, H);
    if (start == 0 || (before - now) / start < options_.tol) return i;
    before = now;
  }
  return options_.max_iter;
}

template class NmfSolver<float>;
template class NmfSolver<double>;

}   // namespace kedge::engine
