// Passes over the rows of a margin problem: gathered in blocks that stay in the cache, each read once.
#include "engine/estimators/linear/margin_problem.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockRows = 4096, kPieceRows = 64;
static_assert(kBlockRows % kLane == 0);

// `first` followed by a map of the samples' own, as one map.
std::vector<double> composed_shift(const std::vector<double>& own_shift, const std::vector<double>& own_scale,
                                   std::vector<double> shift) {
  for (std::size_t j = 0; j < own_shift.size(); ++j) shift[j] = own_shift[j] + shift[j] / own_scale[j];
  return shift;
}
std::vector<double> composed_scale(const std::vector<double>& own_scale, std::vector<double> scale) {
  for (std::size_t j = 0; j < own_scale.size(); ++j) scale[j] *= own_scale[j];
  return scale;
}

}   // namespace

template <class T>
MarginProblem<T>::MarginProblem(const Context& ctx, const Samples<T>& X, std::vector<double> y,
                                std::vector<double> weights, std::vector<double> shift, std::vector<double> scale,
                                double ones, std::vector<double> signs)
    : X_(X),
      n_rows_(X.n_rows()),
      ones_value_(ones),
      y_host_(std::move(y)),
      weights_host_(weights.empty() ? std::vector<double>(y_host_.size(), 1.0) : std::move(weights)),
      signs_host_(std::move(signs)),
      weight_sum_(std::accumulate(weights_host_.begin(), weights_host_.end(), 0.0)),
      shift_(ctx.memory(), std::span<const double>(composed_shift(X.shift, X.scale, std::move(shift)))),
      scale_(ctx.memory(), std::span<const double>(composed_scale(X.scale, std::move(scale)))),
      signs_(ctx.memory(), std::span<const double>(signs_host_)),
      y_(ctx, y_host_, 1.0),
      weights_(ctx, weights_host_, 0.0) {
  if (ones != 0)
    ones_ = Matrix<double>(ctx.memory(), n_rows_, 1, std::vector<double>(static_cast<std::size_t>(n_rows_), ones));
}

template <class T>
Design<T> MarginProblem<T>::design() const {
  return {.X = std::as_const(X_.table->X).view(),
          .rows = X_.row_view(),
          .shift = shift_.view(),
          .scale = scale_.view(),
          .weights = signs_.view(),
          .Y = ones_.view()};
}

template <class T>
MarginRows MarginProblem<T>::rows_of(std::int64_t first, std::int64_t count, RowLanes& margins) {
  const MatrixView<double> dual = dual_.n_rows() > 0 ? dual_.lanes(first, count) : MatrixView<double>();
  return {margins.lanes(0, count), y_.lanes(first, count), weights_.lanes(first, count), dual,
          margins.lanes(margins.n_rows() / 2, count)};
}

// visit(first, rows, margins) for each block: its rows and their margins.
template <class T>
template <class Visit>
void MarginProblem<T>::for_blocks(const Context& ctx, std::span<const double> v, Visit visit) {
  const std::int64_t step = block_rows(ctx, kBlockRows, size()) / kLane * kLane, most = std::min(n_rows_, step);
  Matrix<double> block(ctx.memory(), most, size());
  const Matrix<double> w(ctx.memory(), 1, size(), v);
  RowLanes margins(ctx, 2 * ((most + kLane - 1) / kLane * kLane), 1.0);
  const Design<T> all = design();
  for (std::int64_t first = 0; first < n_rows_; first += step) {
    ctx.check_stop();
    const MatrixView<double> rows = block.view().row_range(0, std::min(step, n_rows_ - first));
    ctx.ops<T>().design->gather(all, first, rows);
    ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, w.view(), 0.0,
                                   margins.column(0, rows.rows));
    visit(first, rows, margins);
  }
}

template <class T>
MarginSums MarginProblem<T>::sums(const Context& ctx, const MarginLoss& loss, std::span<const double> v) {
  const std::int64_t q = size(), step = block_rows(ctx, kBlockRows, q) / kLane * kLane,
                     blocks = (n_rows_ + step - 1) / step, most = std::min(n_rows_, step);
  RowLanes slope(ctx, most, 0.0), first_part(ctx, most, 0.0), second_part(ctx, most, 0.0), one(ctx, most, 1.0);
  Matrix<double> partial(ctx.memory(), blocks, q + 2);
  LinearOps<double>& linear = *ctx.ops<double>().linear;
  const LaneMath math(ctx);
  for_blocks(ctx, v, [&](std::int64_t first, MatrixView<double> rows, RowLanes& margins) {
    const std::int64_t count = rows.rows;
    loss.write(math, rows_of(first, count, margins),
               {slope.lanes(0, count), first_part.lanes(0, count), second_part.lanes(0, count)});
    const auto sum = [&](std::int64_t column, std::int64_t columns) {
      return MatrixView<double>(partial.data() + first / step * (q + 2) + column, 1, columns);
    };
    const auto add_up = [&](RowLanes& part, std::int64_t column) {
      linear.gemm(Transpose::kYes, Transpose::kNo, 1.0, one.column(0, count), part.column(0, count), 0.0,
                  sum(column, 1));
    };
    linear.gemm(Transpose::kYes, Transpose::kNo, 1.0, slope.column(0, count), rows, 0.0, sum(0, q));
    add_up(first_part, q), add_up(second_part, q + 1);
  });
  Array<double> total(ctx.memory(), q + 2);
  ctx.ops<double>().rows->column_sums(std::as_const(partial).view(), total.view());
  MarginSums found;
  found.slopes = total.to_host();
  found.second = found.slopes.back(), found.slopes.pop_back();
  found.first = found.slopes.back(), found.slopes.pop_back();
  return found;
}

template <class T>
std::vector<double> MarginProblem<T>::curvature(const Context& ctx, const MarginLoss& loss, std::span<const double> v,
                                                bool with_residual) {
  const std::int64_t extra = (ones_value_ != 0 ? 1 : 0) + (with_residual ? 1 : 0), p = X_.n_cols() + extra;
  if (curvature_.n_rows() == 0) curvature_ = RowLanes(ctx, n_rows_, 0.0);
  Matrix<double> more(ctx.memory(), with_residual ? n_rows_ : 0, extra);   // the columns behind those of X
  MapOps<double>& maps = *ctx.ops<double>().maps;
  const LaneMath math(ctx);
  for_blocks(ctx, v, [&](std::int64_t first, MatrixView<double> rows, RowLanes& margins) {
    const std::int64_t count = rows.rows;
    if (with_residual) {
      const auto to = [&](std::int64_t column) {
        return MatrixView<double>(more.data() + first * extra + column, count, 1, extra);
      };
      maps.combine(Binary::kSubtract, margins.column(0, count), y_.column(first, count), to(extra - 1));
      if (ones_value_ != 0) ctx.ops<double>().tables->gather(ones_.view().row_range(first, count), {}, {}, {}, to(0));
    }
    const MatrixView<double> out = curvature_.lanes(first, count);
    loss.write_curvature(math, rows_of(first, count, margins), out);
    math.sqrt(out, out);
  });
  Design<T> weighted = design();
  weighted.weights = curvature_.view();
  if (with_residual) weighted.Y = std::as_const(more).view();
  Matrix<double> gram(ctx.memory(), p, p);
  ctx.ops<T>().design->gram(weighted, gram.view());
  return gram.to_host();
}

template <class T>
void MarginProblem<T>::update_duals(const Context& ctx, const MarginLoss& loss, std::span<const double> v) {
  const LaneMath math(ctx);
  for_blocks(ctx, v, [&](std::int64_t first, MatrixView<double> rows, RowLanes& margins) {
    loss.write_dual(math, rows_of(first, rows.rows, margins));
  });
}

template <class T>
auto MarginProblem<T>::sample(const Context& ctx, std::int64_t count) const -> Sample {
  const std::int64_t pieces = std::min(count, n_rows_) / kPieceRows, d = X_.n_cols();
  Matrix<double> rows(ctx.memory(), pieces * kPieceRows, d);
  Design<T> columns = design();
  columns.Y = {}, columns.weights = {};
  Sample found;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t first = piece * (n_rows_ - kPieceRows) / std::max<std::int64_t>(pieces - 1, 1);
    ctx.ops<T>().design->gather(columns, first, rows.view().row_range(piece * kPieceRows, kPieceRows));
    const auto take = [first](const std::vector<double>& from, std::vector<double>& to) {
      if (!from.empty()) to.insert(to.end(), from.begin() + first, from.begin() + first + kPieceRows);
    };
    take(y_host_, found.y), take(weights_host_, found.weights), take(signs_host_, found.signs);
  }
  found.X = samples_of(std::move(rows));
  return found;
}

template class MarginProblem<float>;
template class MarginProblem<double>;

}   // namespace kedge::engine
