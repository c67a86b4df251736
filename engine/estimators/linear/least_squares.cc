// Back substitution, solutions of least norm, and Lawson and Hanson's active set.
#include "engine/estimators/linear/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kedge::engine {
namespace {

double& at(std::vector<double>& A, std::size_t n, std::size_t i, std::size_t j) {
  return A[i * n + j];
}

// Lawson and Hanson's working state: Q A and Q b, where the columns order[0 .. k) form an upper triangle.
class ActiveSet {
 public:
  ActiveSet(std::span<const double> A, std::span<const double> b)
      : n_(b.size()), A_(A.begin(), A.end()), b_(b.begin(), b.end()), order_(n_) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }
  std::size_t n_positive() const { return k_; }
  std::size_t column(std::size_t position) const { return order_[position]; }

  // A'(b - A w) of the column at `position` >= k, by what lies below the triangle.
  double slope(std::size_t position) const {
    double sum = 0;
    for (std::size_t i = k_; i < n_; ++i) sum += A_[i * n_ + order_[position]] * b_[i];
    return sum;
  }

  // Whether the column at `position` is independent of the triangle and would get a positive coefficient.
  bool is_useful(std::size_t position) const {
    double inside = 0, below = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double v = A_[i * n_ + order_[position]];
      (i < k_ ? inside : below) += v * v;
    }
    return std::sqrt(below) > 100 * std::numeric_limits<double>::epsilon() * std::sqrt(inside) && slope(position) > 0;
  }

  void add(std::size_t position) {
    std::swap(order_[k_], order_[position]);
    reflect(order_[k_]);
    ++k_;
  }

  void remove(std::size_t position) {
    const std::size_t out = order_[position];
    for (std::size_t p = position; p + 1 < k_; ++p) {
      order_[p] = order_[p + 1];
      rotate(p, order_[p]);
    }
    order_[--k_] = out;
  }

  std::vector<double> solve() const {   // by position
    std::vector<double> w(k_);
    for (std::size_t i = k_; i-- > 0;) {
      double value = b_[i];
      for (std::size_t j = i + 1; j < k_; ++j) value -= A_[i * n_ + order_[j]] * w[j];
      w[i] = value / A_[i * n_ + order_[i]];
    }
    return w;
  }

 private:
  // Householder: the column becomes 0 below row k.
  void reflect(std::size_t column) {
    std::vector<double> v(n_, 0.0);
    double norm = 0;
    for (std::size_t i = k_; i < n_; ++i) v[i] = at(A_, n_, i, column), norm = std::hypot(norm, v[i]);
    if (norm == 0) return;
    const double diagonal = v[k_] > 0 ? -norm : norm;
    v[k_] -= diagonal;
    const double factor = 1 / (diagonal * v[k_]);
    std::vector<double> along(n_ + 1, 0.0);   // of each column, and of b
    for (std::size_t i = k_; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) along[j] += v[i] * A_[i * n_ + j];
      along[n_] += v[i] * b_[i];
    }
    for (std::size_t i = k_; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) A_[i * n_ + j] += factor * v[i] * along[j];
      b_[i] += factor * v[i] * along[n_];
      at(A_, n_, i, column) = i == k_ ? diagonal : 0.0;
    }
  }

  // Givens: rows p and p + 1 so that the column is 0 in the second.
  void rotate(std::size_t p, std::size_t column) {
    const double a = at(A_, n_, p, column), c = at(A_, n_, p + 1, column), norm = std::hypot(a, c);
    if (norm == 0) return;
    const double cosine = a / norm, sine = c / norm;
    const auto turn = [&](double& x, double& y) {
      const double old = x;
      x = cosine * old + sine * y;
      y = cosine * y - sine * old;
    };
    for (std::size_t j = 0; j < n_; ++j) turn(A_[p * n_ + j], A_[(p + 1) * n_ + j]);
    turn(b_[p], b_[p + 1]);
    at(A_, n_, p + 1, column) = 0;
  }

  std::size_t n_, k_ = 0;
  std::vector<double> A_, b_;
  std::vector<std::size_t> order_;
};

// Moves w (by column) towards the solution on the active set until that is positive everywhere; columns that reach 0 leave the
// set.
void settle(ActiveSet& set, std::vector<double>& w) {
  for (;;) {
    const std::vector<double> target = set.solve();
    double step = 1;
    for (std::size_t p = 0; p < target.size(); ++p) {
      const double old = w[set.column(p)];
      if (target[p] <= 0 && old - target[p] > 0) step = std::min(step, old / (old - target[p]));
    }
    const bool whole = std::ranges::all_of(target, [](double v) { return v > 0; });
    for (std::size_t p = 0; p < target.size(); ++p) {
      double& value = w[set.column(p)];
      value = whole ? target[p] : value + step * (target[p] - value);
    }
    if (whole) return;
    bool removed = false;
    for (std::size_t p = set.n_positive(); p-- > 0;) {
      if (target[p] > 0 || w[set.column(p)] > std::numeric_limits<double>::epsilon() * std::abs(target[p])) continue;
      w[set.column(p)] = 0;
      set.remove(p), removed = true;
    }
    if (!removed) return;   // rounding: no column reached 0
  }
}

}   // namespace

std::vector<double> leading_square(std::span<const double> R, std::int64_t p, std::int64_t d) {
  std::vector<double> square;
  for (std::int64_t i = 0; i < d; ++i) square.insert(square.end(), R.begin() + i * p, R.begin() + i * p + d);
  return square;
}

Decomposition decompose(const Context& ctx, std::span<const double> A, std::int64_t rows, std::int64_t cols) {
  const std::int64_t r = std::min(rows, cols);
  Matrix<double> a(ctx.memory(), rows, cols, A), U(ctx.memory(), rows, r), Vt(ctx.memory(), r, cols);
  Array<double> s(ctx.memory(), r);
  ctx.ops<double>().factorise->svd(a.view(), U.view(), s.view(), Vt.view());
  return {U.to_host(), s.to_host(), Vt.to_host()};
}

std::vector<double> back_substitute(std::span<const double> R, std::span<const double> z) {
  const std::size_t d = z.size();
  std::vector<double> w(d);
  for (std::size_t i = d; i-- > 0;) {
    long double value = z[i];
    for (std::size_t j = i + 1; j < d; ++j) value -= static_cast<long double>(R[i * d + j]) * static_cast<long double>(w[j]);
    w[i] = static_cast<double>(value / static_cast<long double>(R[i * d + i]));
  }
  return w;
}

std::vector<double> shortest_solution(const Context& ctx, std::span<const double> R, std::span<const double> z,
                                      const std::vector<double>& scale, double cutoff, std::int64_t& rank) {
  const std::size_t d = z.size();
  const Decomposition svd = decompose(ctx, R, static_cast<std::int64_t>(d), static_cast<std::int64_t>(d));
  rank = std::ranges::count_if(svd.s, [&](double s) { return s > cutoff * svd.s[0]; });
  const auto r = static_cast<std::size_t>(rank);
  std::vector<double> w(d, 0.0);
  for (std::size_t k = 0; k < r; ++k) {
    ctx.check_stop();
    double along = 0;
    for (std::size_t i = 0; i < d; ++i) along += svd.U[i * d + k] * z[i];
    for (std::size_t j = 0; j < d; ++j) w[j] += along / svd.s[k] * svd.Vt[k * d + j];
  }
  for (std::size_t j = 0; j < d; ++j) w[j] *= scale[j];
  if (r == d) return w;
  std::vector<double> null(d * (d - r));   // w may be moved along these columns; the shortest has no part in them
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t k = r; k < d; ++k) null[j * (d - r) + k - r] = scale[j] * svd.Vt[k * d + j];
  }
  Matrix<double> basis(ctx.memory(), static_cast<std::int64_t>(d), static_cast<std::int64_t>(d - r), null);
  ctx.ops<double>().factorise->orthonormalize(basis.view());
  null = basis.to_host();
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t k = 0; k < d - r; ++k) {
      ctx.check_stop();
      double along = 0;
      for (std::size_t j = 0; j < d; ++j) along += null[j * (d - r) + k] * w[j];
      for (std::size_t j = 0; j < d; ++j) w[j] -= along * null[j * (d - r) + k];
    }
  }
  return w;
}

std::vector<double> nonnegative_least_squares(const Context& ctx, std::span<const double> A, std::span<const double> b) {
  const std::size_t n = b.size();
  ActiveSet set(A, b);
  std::vector<double> w(n, 0.0);
  double size = 0;   // slopes below the rounding of A'b count as 0
  for (std::size_t p = 0; p < n; ++p) size = std::max(size, std::abs(set.slope(p)));
  const double least = 10 * std::numeric_limits<double>::epsilon() * static_cast<double>(n) * size;
  for (std::size_t step = 0; step < 3 * n && set.n_positive() < n; ++step) {
    ctx.check_stop();
    std::size_t best = n;
    double steepest = least;
    for (std::size_t p = set.n_positive(); p < n; ++p) {
      ctx.check_stop();
      const double slope = set.slope(p);
      if (slope > steepest && set.is_useful(p)) steepest = slope, best = p;
    }
    if (best == n) break;
    set.add(best);
    settle(set, w);
  }
  return w;
}

}   // namespace kedge::engine
