// Least angle regression with a Cholesky factor that grows and shrinks by a row a step.
#include "engine/estimators/linear/lars_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr double kTiny = std::numeric_limits<float>::min(), kAlphaTol = std::numeric_limits<float>::epsilon();
constexpr double kLeastPivot = 1e-7,
                 kRounding = 1e15;   // products with a direction are rounded, so that ties stay ties

double least_positive(const Vector& values) {
  double least = std::numeric_limits<double>::max();
  for (const double v : values)
    if (v > 0 && v < least) least = v;
  return least;
}

// The lower triangle of the taken columns' products, by row.
class Factor {
 public:
  std::size_t size() const { return rows_.size(); }
  // Appends a column with these products with the others and with itself; the pivot that it gets.
  double append(Vector products, double square, double eps) {
    solve_lower(products);
    const double rest = square - std::inner_product(products.begin(), products.end(), products.begin(), 0.0);
    products.push_back(std::max(std::sqrt(std::abs(rest)), eps));
    rows_.push_back(std::move(products));
    return rows_.back().back();
  }
  void drop_last() { rows_.pop_back(); }
  // Leaves a column out by plane rotations.
  void remove(std::size_t place) {
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(place));
    for (std::size_t i = place; i < rows_.size(); ++i) {
      const double a = rows_[i][i], b = rows_[i][i + 1], size = std::hypot(a, b);
      for (std::size_t j = i; j < rows_.size(); ++j) {
        const double left = rows_[j][i], right = rows_[j][i + 1];
        rows_[j][i] = (a * left + b * right) / size, rows_[j][i + 1] = (a * right - b * left) / size;
      }
      rows_[i].resize(i + 1);
    }
  }
  // Of the products plus `ridge` times the factor's own diagonal: x so that L L' x = b.
  Vector solve(Vector b) const {
    solve_lower(b);
    for (std::size_t i = b.size(); i-- > 0;) {
      b[i] /= rows_[i][i];
      for (std::size_t j = 0; j < i; ++j) b[j] -= rows_[i][j] * b[i];
    }
    return b;
  }
  void raise_diagonal(double by) {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i][i] += by;
  }

 private:
  void solve_lower(Vector& b) const {
    for (std::size_t i = 0; i < b.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) b[i] -= rows_[i][j] * b[j];
      b[i] /= rows_[i][i];
    }
  }
  std::vector<Vector> rows_;
};

class Walk {
 public:
  Walk(const Context& ctx, const char* owner, const Vector& gram, double n_rows, const LarsOptions& options)
      : ctx_(ctx), owner_(owner), gram_(gram), n_rows_(n_rows), options_(options) {
    d_ = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(gram.size())))) - 1;
    order_.resize(d_), std::iota(order_.begin(), order_.end(), 0);
    for (std::size_t j = 0; j < d_; ++j) left_.push_back(product(j, d_));
    path_.coef.assign(d_, 0.0), path_.alphas.assign(1, 0.0);
  }

  LarsPath run() {
    bool has_dropped = false;
    while (true) {
      ctx_.check_stop();
      const std::size_t best = largest_left();
      const double most = left_.empty() ? 0.0 : size_of(left_[best]);
      path_.alphas.back() = most / n_rows_;
      if (ends_at_least_alpha()) break;
      if (path_.n_iter >= options_.max_iter || factor_.size() >= d_) break;
      if (!has_dropped && !take(best)) continue;
      if (options_.is_lasso && path_.n_iter > 0 && *(path_.alphas.end() - 2) < path_.alphas.back()) {
        ctx_.warn(fmt::format("{}: stops after {} steps, because what is left of the target is rounding", owner_,
                              path_.n_iter));
        break;
      }
      has_dropped = step(most);
    }
    path_.active.assign(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(factor_.size()));
    return std::move(path_);
  }

 private:
  double product(std::size_t i, std::size_t j) const { return gram_[i * (d_ + 1) + j]; }
  double size_of(double left) const { return options_.positive ? left : std::abs(left); }
  std::size_t column(std::size_t place) const { return static_cast<std::size_t>(order_[place]); }
  double* coef() { return path_.coef.data() + path_.coef.size() - d_; }

  std::size_t largest_left() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < left_.size(); ++i)
      if (size_of(left_[i]) > size_of(left_[best])) best = i;
    return best;
  }

  // At or below alpha_min: the last knot moves back to it.
  bool ends_at_least_alpha() {
    double& alpha = path_.alphas.back();
    const double least = options_.alpha_min;
    if (alpha > least + kAlphaTol) return false;
    if (std::abs(alpha - least) <= kAlphaTol) return true;
    if (path_.n_iter > 0) {
      const double before = *(path_.alphas.end() - 2), share = (before - least) / (before - alpha);
      for (std::size_t j = 0; j < d_; ++j) {
        const double old = *(coef() + j - d_);
        coef()[j] = old + share * (coef()[j] - old);
      }
    }
    alpha = least;
    return true;
  }

  // False where the column is a combination of those taken: it counts as done with.
  bool take(std::size_t best) {
    const std::size_t n = factor_.size(), j = column(n + best);
    Vector products;
    for (std::size_t i = 0; i < n; ++i) products.push_back(product(j, column(i)));
    const double pivot = factor_.append(std::move(products), product(j, j), options_.eps);
    if (pivot < kLeastPivot) {
      factor_.drop_last();
      left_[best] = 0;
      ctx_.warn(fmt::format("{}: column {} is left out, for it is nearly a combination of {} others", owner_, j, n));
      return false;
    }
    signs_.push_back(options_.positive || left_[best] > 0 ? 1.0 : -1.0);
    std::swap(order_[n], order_[n + best]), std::swap(left_[0], left_[best]);
    left_.erase(left_.begin());
    return true;
  }

  // The direction that has the same product with every taken column, and that product.
  std::pair<Vector, double> direction() const {
    Vector along = factor_.solve(signs_);
    const auto total = [&] { return std::inner_product(along.begin(), along.end(), signs_.begin(), 0.0); };
    double height = 1 / std::sqrt(total());
    Factor raised = factor_;
    for (int i = 0; !std::isfinite(height); ++i) {
      raised.raise_diagonal(std::ldexp(options_.eps, i));
      along = raised.solve(signs_);
      height = 1 / std::sqrt(std::max(kTiny, total()));   // in this order, for a total that is no number
    }
    for (double& a : along) a *= height;
    return {std::move(along), height};
  }

  // Moves along the direction until a column joins, or one leaves; true for the latter.
  bool step(double most) {
    const auto [along, height] = direction();
    const std::size_t n = factor_.size();
    Vector all(d_, 0.0), moves(left_.size()), ends;
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = gram_.data() + column(i) * (d_ + 1);
      for (std::size_t j = 0; j < d_; ++j) all[j] += along[i] * row[j];
    }
    for (std::size_t i = 0; i < moves.size(); ++i) {
      moves[i] = std::nearbyint(all[column(n + i)] * kRounding) / kRounding;
      ends.push_back((most - left_[i]) / (height - moves[i] + kTiny));
      if (!options_.positive) ends.push_back((most + left_[i]) / (height + moves[i] + kTiny));
    }
    double length = std::min(least_positive(ends), most / height);
    Vector zeros(n);
    for (std::size_t i = 0; i < n; ++i) zeros[i] = -coef()[column(i)] / (along[i] + kTiny);
    const double first_zero = least_positive(zeros);
    const bool crosses = first_zero < length;
    for (std::size_t i = 0; crosses && i < n; ++i)
      if (zeros[i] == first_zero) signs_[i] = -signs_[i];
    if (crosses && options_.is_lasso) length = first_zero;
    add_knot(along, length);
    for (std::size_t i = 0; i < left_.size(); ++i) left_[i] -= length * moves[i];
    for (std::size_t i = n; crosses && options_.is_lasso && i-- > 0;)
      if (zeros[i] == first_zero) drop(i);
    return crosses;
  }

  void add_knot(const Vector& along, double length) {
    Vector next(d_, 0.0);
    for (std::size_t i = 0; i < along.size(); ++i) next[column(i)] = coef()[column(i)] + length * along[i];
    path_.coef.insert(path_.coef.end(), next.begin(), next.end());
    path_.alphas.push_back(0.0), ++path_.n_iter;
  }

  void drop(std::size_t place) {
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(place);
    const std::size_t n = factor_.size(), j = column(place);
    factor_.remove(place);
    std::rotate(first, first + 1, order_.begin() + static_cast<std::ptrdiff_t>(n));
    signs_.erase(signs_.begin() + static_cast<std::ptrdiff_t>(place));
    double rest = product(j, d_);
    for (std::size_t i = 0; i < d_; ++i) rest -= product(j, i) * coef()[i];
    left_.insert(left_.begin(), rest);
  }

  const Context& ctx_;
  const char* owner_;
  const Vector& gram_;
  std::size_t d_ = 0;
  double n_rows_;
  const LarsOptions& options_;
  std::vector<std::int32_t> order_;   // columns: those taken, then the others
  Vector left_, signs_;               // products of the others with what is left; signs of the taken ones
  Factor factor_;
  LarsPath path_;
};

}   // namespace

LarsPath lars_path(const Context& ctx, const char* owner, const std::vector<double>& gram, double n_rows,
                   const LarsOptions& options) {
  return Walk(ctx, owner, gram, n_rows, options).run();
}

}   // namespace kedge::engine
