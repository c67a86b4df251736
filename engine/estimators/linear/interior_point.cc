// A predictor and a corrector step for the dual of the pinball loss: max y'd over X'd = 0, -(1 - q) w <= d <= q w.
#include "engine/estimators/linear/interior_point.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr std::int64_t kLane = 256, kMostIterations = 80;
constexpr double kGap = 1e-12, kLeastGap = 1e-15;   // of the loss, and of the loss at the start
constexpr double kStall = 0.9;                      // of the least gap so far
constexpr int kMostStalled = 5;
constexpr double kLeastApart = 1e-6;   // of the target's size: multipliers at the start
constexpr double kBack = 0.99995;      // of the way to the nearest bound

// One number a row, n x 1.
using Rows = Matrix<double>;

// Arithmetic of all rows, as lanes and what is left of them, which suits a processor and a GPU alike. `out` may be an
// operand.
class RowMath {
 public:
  explicit RowMath(const Context& ctx) : ctx_(ctx), maps_(*ctx.ops<double>().maps) {}
  void combine(Binary f, const Rows& x, const Rows& y, Rows& out) const {
    for_parts(x.rows(), [&](std::int64_t first, std::int64_t rows, std::int64_t cols) {
      maps_.combine(f, {x.data() + first, rows, cols}, {y.data() + first, rows, cols},
                    MatrixView<double>{out.data() + first, rows, cols});
    });
  }
  void scalar(Binary f, const Rows& x, double y, Rows& out) const {
    const Matrix<double> one(ctx_.memory(), 1, 1, Vector{y});
    for_parts(x.rows(), [&](std::int64_t first, std::int64_t rows, std::int64_t cols) {
      maps_.combine(f, {x.data() + first, rows, cols}, one.view(), MatrixView<double>{out.data() + first, rows, cols});
    });
  }
  void map(Unary f, double scale, const Rows& x, Rows& out) const {
    for_parts(x.rows(), [&](std::int64_t first, std::int64_t rows, std::int64_t cols) {
      maps_.map(f, scale, {x.data() + first, rows, cols}, MatrixView<double>{out.data() + first, rows, cols});
    });
  }
  void add(const Rows& x, const Rows& y, Rows& out) const { combine(Binary::kAdd, x, y, out); }
  void subtract(const Rows& x, const Rows& y, Rows& out) const { combine(Binary::kSubtract, x, y, out); }
  void multiply(const Rows& x, const Rows& y, Rows& out) const { combine(Binary::kMultiply, x, y, out); }
  void divide(const Rows& x, const Rows& y, Rows& out) const { combine(Binary::kDivide, x, y, out); }
  // x += factor * y; `work` is overwritten.
  void add_scaled(Rows& x, double factor, const Rows& y, Rows& work) const {
    scalar(Binary::kMultiply, y, factor, work);
    add(x, work, x);
  }

 private:
  template <class Visit>
  static void for_parts(std::int64_t n, Visit visit) {
    const std::int64_t lanes = n / kLane, rest = n % kLane;
    if (lanes > 0) visit(0, lanes, kLane);
    if (rest > 0) visit(n - rest, 1, rest);
  }
  const Context& ctx_;
  MapOps<double>& maps_;
};

// What a step leads to, of the rows and of the penalties: the furthest fractions to a bound, and products.
struct Reach {
  double primal = 0, dual = 0;   // largest -da/a or da/s, and -dz/z or -dw/w
  double da_z = 0, da_w = 0, da_dz = 0, da_dw = 0;
};

// Penalties are rows of their own, few and on the host: e_j'coef, target 0, bounds +-penalty.
struct Bound {
  double a, s, z, w, r;
  double da = 0, dz = 0, dw = 0, q = 0, rho = 0;
};

template <class T>
class PinballSolver {
 public:
  PinballSolver(const Context& ctx, const Samples<T>& X, MatrixView<const double> y, VectorView<const double> weights,
                const PinballProblem& problem)
      : ctx_(ctx), math_(ctx), X_(X), y_(y), problem_(problem), n_(X.n_rows()), d_(X.n_cols()) {
    shift_ = Array<double>(ctx.memory(), std::span<const double>(problem.shift));
    scale_ = Array<double>(ctx.memory(), std::span<const double>(problem.scale));
    size_ = static_cast<std::size_t>(d_) + (problem.has_intercept ? 1 : 0);
    beta_.assign(size_, 0.0);
    for (Rows* rows : {&u_, &low_, &a_, &s_, &z_, &w_, &r_, &q_, &root_, &rho_, &da_, &dz_, &dw_, &t1_, &t2_, &xd_})
      *rows = Rows(ctx.memory(), n_, 1);
    ones_ = Rows(ctx.memory(), n_, 1);
    ctx.ops<double>().maps->map(Unary::kExp, 0, y, ones_.view());
    if (weights.empty()) math_.map(Unary::kAbs, 1, ones_, u_);
    else ctx.ops<double>().maps->map(Unary::kAbs, 1, {weights.data, n_, 1}, u_.view());
    both_ = Matrix<double>(ctx.memory(), n_, problem.has_intercept ? 2 : 1);
  }

  PinballLine run() {
    start();
    PinballLine line;
    double gap = 0, loss = 0, first = 0, least = 0;
    int stalled = -1;   // iterations without much of a gain; the first has none before it
    for (line.n_iter = 0; line.n_iter < kMostIterations; ++line.n_iter) {
      ctx_.check_stop();
      std::tie(gap, loss) = gap_and_loss();
      if (line.n_iter == 0) first = loss + gap, least = gap;
      if (gap <= kGap * loss || gap <= kLeastGap * first || loss == 0) break;
      stalled = gap > kStall * least ? stalled + 1 : 0;
      least = std::min(least, gap);
      if (stalled > kMostStalled || !step(gap)) break;
    }
    line.gap = gap, line.loss = loss, line.coef = beta_;
    return line;
  }

 private:
  double ones_dot(const Rows& x) const { return dots({{&x, nullptr}})[0]; }
  // Sums of x[i] y[i] for each pair, y absent: of x. One wait.
  Vector dots(const std::vector<std::pair<const Rows*, const Rows*>>& pairs) const {
    Array<double> sums(ctx_.memory(), static_cast<std::int64_t>(pairs.size()));
    for (std::size_t i = 0; i < pairs.size(); ++i)
      ctx_.ops<double>().rows->weighted_sums(
          pairs[i].first->view(),
          pairs[i].second ? VectorView<const double>{pairs[i].second->data(), n_} : VectorView<const double>{},
          sums.view().slice(static_cast<std::int64_t>(i), 1));
    return sums.to_host();
  }
  // Least and largest of each. One wait.
  Vector ranges(const std::vector<const Rows*>& all) const {
    const auto count = static_cast<std::int64_t>(all.size());
    Array<double> found(ctx_.memory(), 2 * count);
    for (std::int64_t i = 0; i < count; ++i)
      ctx_.ops<double>().tables->column_range(all[static_cast<std::size_t>(i)]->view(), {},
                                              found.view().slice(2 * i, 1), found.view().slice(2 * i + 1, 1));
    return found.to_host();
  }
  Design<T> design(VectorView<const double> weights, MatrixView<const double> Y) const {
    return {.X = std::as_const(X_.table->X).view(),
            .rows = X_.row_view(),
            .shift = shift_.view(),
            .scale = scale_.view(),
            .weights = weights,
            .Y = Y};
  }

  // X'(weights^2 v), the intercept's part last.
  Vector products(const Rows& v, const Rows* root) const {
    Array<double> slopes(ctx_.memory(), d_);
    ctx_.ops<T>().design->slopes(
        design(root ? VectorView<const double>{root->data(), n_} : VectorView<const double>{}, v.view()), {},
        slopes.view());
    Vector result = slopes.to_host();
    if (problem_.has_intercept) result.push_back(root ? dots({{&v, &q_}})[0] : ones_dot(v));
    return result;
  }

  // X'QX, and X'Qv in `with`.
  Vector gram(const Rows& v, Vector& with) {
    const std::int64_t extra = both_.cols(), p = d_ + extra;
    ctx_.ops<double>().tables->gather(v.view(), {}, {}, {}, {both_.data() + extra - 1, n_, 1, extra});
    if (extra == 2) ctx_.ops<double>().tables->gather(ones_.view(), {}, {}, {}, {both_.data(), n_, 1, extra});
    Matrix<double> G(ctx_.memory(), p, p);
    ctx_.ops<T>().design->gram(design({root_.data(), n_}, both_.view()), G.view());
    const Vector all = G.to_host();
    Vector matrix(size_ * size_);
    const auto side = static_cast<std::size_t>(p);
    for (std::size_t i = 0; i < size_; ++i)
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * side), size_,
                  matrix.begin() + static_cast<std::ptrdiff_t>(i * size_));
    with.assign(all.end() - static_cast<std::ptrdiff_t>(side), all.end() - 1);
    return matrix;
  }

  // Symmetric, on the host's request; columns of 0 keep 0. False where even a small multiple of the diagonal does not
  // help.
  bool solve(const Vector& matrix, Vector& b) const {
    for (double ridge = 0; ridge < 1e-6; ridge = ridge == 0 ? 1e-15 : 100 * ridge) {
      Vector raised = matrix;
      for (std::size_t i = 0; i < size_; ++i) {
        double& pivot = raised[i * (size_ + 1)];
        pivot = pivot > 0 ? pivot * (1 + ridge) : 1.0;
      }
      const auto side = static_cast<std::int64_t>(size_);
      Matrix<double> A(ctx_.memory(), side, side, raised), x(ctx_.memory(), side, 1, b);
      if (!ctx_.ops<double>().factorise->solve_positive(A.view(), x.view())) continue;
      Vector found = x.to_host();
      if (!std::ranges::all_of(found, [](double v) { return std::isfinite(v); })) continue;
      b = std::move(found);
      return true;
    }
    return false;
  }

  // X v for coefficients of the scaled columns.
  void times(const Vector& v, Rows& out) const {
    Vector coef(static_cast<std::size_t>(d_));
    double intercept = problem_.has_intercept ? v.back() : 0.0;
    for (std::size_t j = 0; j < coef.size(); ++j)
      coef[j] = v[j] * problem_.scale[j], intercept -= coef[j] * problem_.shift[j];
    out = linear_values(ctx_, X_, coef, {&intercept, 1});
  }

  // Dual variables between their bounds with X'd = 0: d = 0. Residuals of least squares, parted into w - z.
  void start() {
    const double quantile = problem_.quantile;
    math_.scalar(Binary::kMultiply, u_, 1 - quantile, low_);
    math_.map(Unary::kAbs, 1, low_, a_);
    math_.scalar(Binary::kMultiply, u_, quantile, s_);
    math_.map(Unary::kSqrt, 1, u_, root_);
    ctx_.ops<double>().tables->gather(y_, {}, {}, {}, r_.view());
    Vector with;
    const Vector matrix = gram(r_, with);
    if (solve(matrix, with)) beta_ = with;
    times(beta_, xd_);
    math_.subtract(r_, xd_, r_);
    math_.map(Unary::kAbs, 1, r_, t1_);
    ctx_.ops<double>().maps->map(Unary::kAbs, 1, y_, t2_.view());
    const Vector sums = dots({{&t1_, &u_}, {&t2_, &u_}, {&u_, nullptr}});
    const double apart = (sums[0] + kLeastApart * sums[1]) / sums[2];
    math_.add(t1_, r_, w_), math_.subtract(t1_, r_, z_);   // twice the positive parts
    for (Rows* part : {&w_, &z_})
      math_.scalar(Binary::kMultiply, *part, 0.5, *part), math_.scalar(Binary::kAdd, *part, apart, *part);
    for (std::size_t j = 0; j < problem_.penalty.size(); ++j) {
      const double bound = problem_.penalty[j], r = -beta_[j];
      if (bound > 0)
        bounds_.push_back({bound, bound, std::max(-r, 0.0) + apart, std::max(r, 0.0) + apart, r}),
            bound_of_.push_back(j);
    }
  }

  std::pair<double, double> gap_and_loss() {
    math_.map(Unary::kAbs, 1, r_, t2_);
    const Vector sums = dots({{&a_, &z_}, {&s_, &w_}, {&t2_, &u_}, {&r_, &u_}});
    double gap = sums[0] + sums[1], loss = sums[2] / 2 + (problem_.quantile - 0.5) * sums[3];
    for (const Bound& b : bounds_) gap += b.a * b.z + b.s * b.w, loss += std::abs(b.r) * (b.a + b.s) / 2;
    return {gap, loss};
  }

  // q, and its root for the Gram matrix.
  void weigh() {
    math_.divide(z_, a_, t1_), math_.divide(w_, s_, t2_), math_.add(t1_, t2_, t1_);
    math_.divide(ones_, t1_, q_), math_.map(Unary::kSqrt, 1, q_, root_);
    for (Bound& b : bounds_) b.q = 1 / (b.z / b.a + b.w / b.s);
  }

  // X'd, which rounding alone moves away from 0.
  Vector drift() {
    math_.subtract(a_, low_, t1_);
    Vector off = products(t1_, nullptr);
    for (std::size_t i = 0; i < bounds_.size(); ++i)
      off[bound_of_[i]] += bounds_[i].a - (bounds_[i].a + bounds_[i].s) / 2;
    return off;
  }

  // The step whose right-hand sides are in rho_ (and in t1_, t2_ for the multipliers, unless it is a predictor).
  void move_along(const Vector& direction, bool is_predictor) {
    times(direction, xd_);
    math_.subtract(rho_, xd_, da_), math_.multiply(da_, q_, da_);
    math_.multiply(z_, da_, dz_), math_.divide(dz_, a_, dz_), math_.add(dz_, z_, dz_);   // z + z da / a
    math_.multiply(w_, da_, dw_), math_.divide(dw_, s_, dw_), math_.subtract(dw_, w_, dw_);
    math_.scalar(Binary::kMultiply, dz_, -1.0, dz_);
    if (!is_predictor) math_.add(dz_, t1_, dz_), math_.add(dw_, t2_, dw_);
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      Bound& b = bounds_[i];
      b.da = b.q * (b.rho - direction[bound_of_[i]]);
    }
  }

  Reach reach() {
    math_.divide(da_, a_, rho_);
    math_.divide(da_, s_, xd_scratch());
    math_.divide(dz_, z_, t1_), math_.divide(dw_, w_, t2_);
    const Vector range = ranges({&rho_, &xd_scratch(), &t1_, &t2_});
    const Vector sums = dots({{&da_, &z_}, {&da_, &w_}, {&da_, &dz_}, {&da_, &dw_}});
    Reach found{.primal = std::max(-range[0], range[3]),
                .dual = std::max(-range[4], -range[6]),
                .da_z = sums[0],
                .da_w = sums[1],
                .da_dz = sums[2],
                .da_dw = sums[3]};
    for (const Bound& b : bounds_) {
      found.primal = std::max({found.primal, -b.da / b.a, b.da / b.s});
      found.dual = std::max({found.dual, -b.dz / b.z, -b.dw / b.w});
      found.da_z += b.da * b.z, found.da_w += b.da * b.w, found.da_dz += b.da * b.dz, found.da_dw += b.da * b.dw;
    }
    return found;
  }
  Rows& xd_scratch() { return root_; }   // free once the Gram matrix is made; made anew by weigh()

  static double length(double furthest) { return furthest > kBack ? kBack / furthest : 1.0; }

  // False: no step is left.
  bool step(double gap) {
    weigh();
    ctx_.ops<double>().tables->gather(r_.view(), {}, {}, {}, rho_.view());
    Vector direction;
    Vector matrix = gram(rho_, direction);
    const Vector off = drift();
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      Bound& b = bounds_[i];
      matrix[bound_of_[i] * (size_ + 1)] += b.q;
      b.rho = b.r, direction[bound_of_[i]] += b.q * b.rho;
    }
    for (std::size_t j = 0; j < size_; ++j) direction[j] += off[j];
    if (!solve(matrix, direction)) return false;
    move_along(direction, true);
    for (Bound& b : bounds_) b.dz = -b.z - b.z / b.a * b.da, b.dw = -b.w + b.w / b.s * b.da;
    const Reach first = reach();
    const double ap = length(first.primal), ad = length(first.dual);
    // (a + ap da)'(z + ad dz) + (s - ap da)'(w + ad dw), where a dz = -a z - z da and s dw = -s w + w da
    const double after = (1 - ad) * gap + (ap - ad) * (first.da_z - first.da_w) + ap * ad * (first.da_dz - first.da_dw);
    const double count = 2.0 * static_cast<double>(n_ + static_cast<std::int64_t>(bounds_.size()));
    const double aim = std::pow(std::clamp(after / gap, 0.0, 1.0), 3) * gap / count;
    return correct(matrix, off, aim);
  }

  bool correct(const Vector& matrix, const Vector& off, double aim) {
    math_.multiply(da_, dz_, t1_), math_.scalar(Binary::kSubtract, t1_, aim, t1_), math_.divide(t1_, a_, t1_);
    math_.scalar(Binary::kMultiply, t1_, -1.0, t1_);   // (aim - da dz) / a
    math_.multiply(da_, dw_, t2_), math_.scalar(Binary::kAdd, t2_, aim, t2_), math_.divide(t2_, s_, t2_);
    math_.add(r_, t1_, rho_), math_.subtract(rho_, t2_, rho_);
    math_.map(Unary::kSqrt, 1, q_, root_);
    Vector direction = products(rho_, &root_);
    std::vector<std::pair<double, double>> own;
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      Bound& b = bounds_[i];
      own.emplace_back((aim - b.da * b.dz) / b.a, (aim + b.da * b.dw) / b.s);
      b.rho = b.r + own[i].first - own[i].second;
      direction[bound_of_[i]] += b.q * b.rho;
    }
    for (std::size_t j = 0; j < size_; ++j) direction[j] += off[j];
    if (!solve(matrix, direction)) return false;
    move_along(direction, false);
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      Bound& b = bounds_[i];
      b.dz = own[i].first - b.z - b.z / b.a * b.da, b.dw = own[i].second - b.w + b.w / b.s * b.da;
    }
    take(direction);
    return true;
  }

  void take(const Vector& direction) {
    const Reach last = reach();
    const double ap = length(last.primal), ad = length(last.dual);
    math_.add_scaled(a_, ap, da_, t1_), math_.add_scaled(s_, -ap, da_, t1_);
    math_.add_scaled(z_, ad, dz_, t1_), math_.add_scaled(w_, ad, dw_, t1_);
    math_.add_scaled(r_, -ad, xd_, t1_);
    for (std::size_t j = 0; j < size_; ++j) beta_[j] += ad * direction[j];
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      Bound& b = bounds_[i];
      b.a += ap * b.da, b.s -= ap * b.da, b.z += ad * b.dz, b.w += ad * b.dw, b.r = -beta_[bound_of_[i]];
    }
  }

  const Context& ctx_;
  RowMath math_;
  const Samples<T>& X_;
  MatrixView<const double> y_;
  const PinballProblem& problem_;
  std::int64_t n_, d_;
  std::size_t size_ = 0;
  Array<double> shift_, scale_;
  Vector beta_;
  Rows u_, low_, ones_;      // weights, the lower bounds' sizes, ones
  Rows a_, s_, z_, w_, r_;   // d + low, u - a, their multipliers, residuals
  Rows q_, root_, rho_, da_, dz_, dw_, t1_, t2_, xd_;
  Matrix<double> both_;   // ones and a right-hand side, side by side
  std::vector<Bound> bounds_;
  std::vector<std::size_t> bound_of_;   // coefficient of each
};

}   // namespace

template <class T>
PinballLine least_pinball(const Context& ctx, const Samples<T>& X, MatrixView<const double> y,
                          VectorView<const double> weights, const PinballProblem& problem) {
  return PinballSolver<T>(ctx, X, y, weights, problem).run();
}

template PinballLine least_pinball(const Context&, const Samples<float>&, MatrixView<const double>,
                                   VectorView<const double>, const PinballProblem&);
template PinballLine least_pinball(const Context&, const Samples<double>&, MatrixView<const double>,
                                   VectorView<const double>, const PinballProblem&);

}   // namespace kedge::engine
