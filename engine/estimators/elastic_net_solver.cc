// Elastic nets by Gram matrices and by working sets.
#include "engine/estimators/elastic_net_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

constexpr std::int64_t kFewColumns = 1000, kMostColumns = 6000;
constexpr std::int64_t kLeastWorkingSet = 64, kLargestFirstSet = 512;
constexpr double kInnerTolerance = 0.3;   // of what is allowed in all, within a working set
constexpr double kInnerGap = 0.1;         // of the present gap: early sets need no exact solution
constexpr std::int64_t kColumnsAtOnce = 4096;
constexpr int kMostWorkingSets = 200;   // a penalty

// Working sets on the rows X (n x d) of one problem, from penalty to penalty.
class WorkingSets {
 public:
  WorkingSets(const Context& ctx, Matrix<double> X, const std::vector<double>& y, const ElasticNetOptions& options)
      : ctx_(ctx),
        X_(std::move(X)),
        y_(y),
        options_(options),
        device_y_(ctx.memory(), X_.rows(), 1, y),
        residual_(y),
        w_(static_cast<std::size_t>(X_.cols()), 0.0) {
    Array<double> mean(ctx.memory(), X_.cols()), variance(ctx.memory(), X_.cols());
    ctx.ops<double>().column_moments(std::as_const(X_).view(), {}, {}, mean.view(), variance.view());
    const std::vector<double> m = mean.to_host(), v = variance.to_host();
    for (std::size_t j = 0; j < m.size(); ++j) squared_norms_.push_back(static_cast<double>(X_.rows()) * (v[j] + m[j] * m[j]));
    for (const double value : y) y_squared_ += value * value;
  }

  // Moves w to the solution; returns the gap, and adds the passes over coordinates to n_iter.
  double solve(double l1, double l2, std::int64_t& n_iter) {
    double gap = look(l1, l2);
    for (int round = 0; round < kMostWorkingSets && !(gap >= 0 && gap <= options_.tol * y_squared_) && n_iter < options_.max_iter;
         ++round) {
      ctx_.check_stop();
      choose(l1, l2, gap);
      if (set_.empty()) break;
      n_iter += descend(l1, l2, gap, options_.max_iter - n_iter);
      gap = look(l1, l2);
    }
    return gap;
  }
  const std::vector<double>& coef() const { return w_; }

 private:
  // X'r for the present residual, and the gap over all columns.
  double look(double l1, double l2) {
    const Matrix<double> r(ctx_.memory(), X_.rows(), 1, residual_);
    Matrix<double> slopes(ctx_.memory(), 1, X_.cols());
    const std::int64_t step =
        std::clamp<std::int64_t>(X_.rows() - 1, 1, kColumnsAtOnce);   // products thinner than tall need no copy of X
    for (std::int64_t j = 0; j < X_.cols(); j += step) {
      const std::int64_t count = std::min(step, X_.cols() - j);
      ctx_.ops<double>().gemm(Transpose::kYes, Transpose::kNo, 1.0, r.view(),
                              MatrixView<const double>(X_.data() + j, X_.rows(), count, X_.cols()), 0.0,
                              MatrixView<double>(slopes.data() + j, 1, count, X_.cols()));
    }
    dual_ = slopes.to_host();
    double l1_norm = 0, squared = 0, rr = 0, ry = 0;
    dual_norm_ = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < w_.size(); ++j) {
      dual_[j] -= l2 * w_[j];
      l1_norm += std::abs(w_[j]), squared += w_[j] * w_[j];
      dual_norm_ = std::max(dual_norm_, options_.positive ? dual_[j] : std::abs(dual_[j]));
    }
    for (std::size_t i = 0; i < residual_.size(); ++i) rr += residual_[i] * residual_[i], ry += residual_[i] * y_[i];
    const double scale = dual_norm_ > l1 ? l1 / dual_norm_ : 1.0, penalised = rr + l2 * squared;
    return 0.5 * penalised + l1 * l1_norm + 0.5 * scale * scale * penalised - scale * ry;
  }

  // The support, and the columns nearest to their dual constraint that the gap does not exclude.
  void choose(double l1, double l2, double gap) {
    std::vector<std::pair<double, std::int32_t>> near;
    std::int64_t support = 0;
    for (std::size_t j = 0; j < w_.size(); ++j) {
      support += w_[j] != 0;
      if (squared_norms_[j] == 0 || (w_[j] == 0 && elastic_net_excludes(dual_[j], dual_norm_, squared_norms_[j], l1, l2, gap)))
        continue;
      const double theta = options_.positive ? dual_[j] : std::abs(dual_[j]);
      near.emplace_back(w_[j] != 0 ? -std::numeric_limits<double>::infinity()
                                   : (std::max(l1, dual_norm_) - theta) / std::sqrt(squared_norms_[j] + l2),
                        static_cast<std::int32_t>(j));
    }
    const auto size = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(near.size()),
                                               std::max(std::clamp(X_.rows(), kLeastWorkingSet, kLargestFirstSet), 2 * support));
    std::ranges::nth_element(near, near.begin() + size);
    set_.clear();
    for (auto it = near.begin(); it != near.begin() + size; ++it) set_.push_back(it->second);
    std::ranges::sort(set_);
  }

  std::int64_t descend(double l1, double l2, double gap, std::int64_t max_iter) {
    const auto m = static_cast<std::int64_t>(set_.size());
    const Array<std::int32_t> columns(ctx_.memory(), std::span<const std::int32_t>(set_));
    Matrix<double> some(ctx_.memory(), X_.rows(), m), fitted(ctx_.memory(), X_.rows(), 1);
    ctx_.ops<double>().take_columns(std::as_const(X_).view(), {}, columns.view(), some.view());
    TargetGram gram{Matrix<double>(ctx_.memory(), m + 1, m + 1), y_squared_};
    ctx_.ops<double>().design_gram({.X = std::as_const(some).view(), .Y = device_y_.view()}, gram.all.view());
    std::vector<double> start;
    for (const std::int32_t j : set_) start.push_back(w_[static_cast<std::size_t>(j)]);
    PathBuffers buffers(ctx_, m, {1.0}, 0.0, 1.0, start);
    buffers.set_penalty(ctx_, l1, l2);
    ElasticNetOptions inner = options_;
    inner.tol = std::max(kInnerTolerance * options_.tol, kInnerGap * gap / y_squared_), inner.max_iter = max_iter;
    const ElasticNetPath path = buffers.path(gram);
    ctx_.ops<double>().elastic_net_paths({&path, 1}, inner);
    ctx_.ops<double>().gemm(Transpose::kNo, Transpose::kYes, 1.0, std::as_const(some).view(), buffers.coef().view(), 0.0,
                            fitted.view());
    const ElasticNetSolutions solved = buffers.solutions(1.0);
    for (std::size_t i = 0; i < set_.size(); ++i) w_[static_cast<std::size_t>(set_[i])] = solved.coef[i];
    const std::vector<double> values = fitted.to_host();
    for (std::size_t i = 0; i < y_.size(); ++i) residual_[i] = y_[i] - values[i];
    return std::max<std::int64_t>(solved.n_iter[0], 1);
  }

  const Context& ctx_;
  Matrix<double> X_;
  const std::vector<double>& y_;
  const ElasticNetOptions& options_;
  Matrix<double> device_y_;
  std::vector<double> residual_, w_, squared_norms_, dual_;
  std::vector<std::int32_t> set_;
  double y_squared_ = 0, dual_norm_ = 0;
};

}   // namespace

bool takes_gram(std::int64_t n_rows, std::int64_t n_cols) {
  return n_cols <= kFewColumns || (n_cols <= n_rows && n_cols <= kMostColumns);
}

bool takes_gram(std::int64_t n_rows, std::int64_t n_cols, const std::vector<double>& alphas, double l1_ratio) {
  const bool has_l1 = l1_ratio > 0 && std::ranges::all_of(alphas, [](double a) { return a > 0; });
  return takes_gram(n_rows, n_cols) || !has_l1;
}

PathBuffers::PathBuffers(const Context& ctx, std::int64_t n_cols, const std::vector<double>& alphas, double l1_ratio,
                         double n_rows, const std::vector<double>& start)
    : gap_(ctx.memory(), static_cast<std::int64_t>(alphas.size())),
      coef_(ctx.memory(), static_cast<std::int64_t>(alphas.size()), n_cols),
      n_iter_(ctx.memory(), static_cast<std::int64_t>(alphas.size())) {
  std::vector<double> l1, l2;
  for (const double alpha : alphas) l1.push_back(alpha * l1_ratio * n_rows), l2.push_back(alpha * (1 - l1_ratio) * n_rows);
  l1_ = Array<double>(ctx.memory(), std::span<const double>(l1)), l2_ = Array<double>(ctx.memory(), std::span<const double>(l2));
  ctx.memory().to_device(coef_.data(), start.data(), start.size() * sizeof(double));
}

void PathBuffers::set_penalty(const Context& ctx, double l1, double l2) {
  l1_ = Array<double>(ctx.memory(), std::span<const double>(&l1, 1)),
  l2_ = Array<double>(ctx.memory(), std::span<const double>(&l2, 1));
}

ElasticNetPath PathBuffers::path(const TargetGram& gram) {
  const std::int64_t d = coef_.cols();
  return {.Q = MatrixView<const double>(gram.all.data(), d, d, d + 1),
          .q = VectorView<const double>(gram.all.data() + d * (d + 1), d),
          .y_squared = gram.y_squared,
          .l1 = std::as_const(l1_).view(),
          .l2 = std::as_const(l2_).view(),
          .coef = coef_.view(),
          .gap = gap_.view(),
          .n_iter = n_iter_.view()};
}

ElasticNetSolutions PathBuffers::solutions(double n_rows) const {
  ElasticNetSolutions all{.coef = coef_.to_host(), .gap = gap_.to_host()};
  for (double& gap : all.gap) gap /= n_rows;
  for (const std::int32_t n : n_iter_.to_host()) all.n_iter.push_back(n);
  return all;
}

template <class T>
TargetGram target_gram(const Context& ctx, const LinearProblem<T>& problem) {
  TargetGram gram{problem.gram(ctx)};
  ctx.memory().to_host(&gram.y_squared, gram.all.data() + gram.all.rows() * gram.all.cols() - 1, sizeof(double));
  return gram;
}

ElasticNetSolutions solve_elastic_nets(const Context& ctx, const TargetGram& gram, double n_rows, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options) {
  const std::int64_t d = gram.all.rows() - 1;
  PathBuffers buffers(ctx, d, alphas, l1_ratio, n_rows, std::vector<double>(static_cast<std::size_t>(d), 0.0));
  const ElasticNetPath path = buffers.path(gram);
  ctx.ops<double>().elastic_net_paths({&path, 1}, options);
  return buffers.solutions(n_rows);
}

template <class T>
ElasticNetSolutions solve_elastic_nets(const Context& ctx, const LinearProblem<T>& problem, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options) {
  const auto rows = static_cast<double>(problem.n_rows());
  if (takes_gram(problem.n_rows(), problem.n_cols(), alphas, l1_ratio))
    return solve_elastic_nets(ctx, target_gram(ctx, problem), rows, alphas, l1_ratio, options);
  WorkingSets sets(ctx, problem.rows(ctx), problem.targets(), options);
  ElasticNetSolutions all;
  for (const double alpha : alphas) {
    std::int64_t n_iter = 0;
    all.gap.push_back(sets.solve(alpha * l1_ratio * rows, alpha * (1 - l1_ratio) * rows, n_iter) / rows);
    all.n_iter.push_back(n_iter);
    all.coef.insert(all.coef.end(), sets.coef().begin(), sets.coef().end());
  }
  return all;
}

template TargetGram target_gram(const Context&, const LinearProblem<float>&);
template TargetGram target_gram(const Context&, const LinearProblem<double>&);
template ElasticNetSolutions solve_elastic_nets(const Context&, const LinearProblem<float>&, const std::vector<double>&, double,
                                                const ElasticNetOptions&);
template ElasticNetSolutions solve_elastic_nets(const Context&, const LinearProblem<double>&, const std::vector<double>&, double,
                                                const ElasticNetOptions&);

}   // namespace kedge::engine
