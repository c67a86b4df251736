// Elastic nets by Gram matrices and by working sets.
#include "engine/estimators/linear/elastic_net_solver.h"

#include "engine/estimators/linear/elastic_net_columns.h"
#include "engine/estimators/linear/elastic_net_dual.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

constexpr std::int64_t kFewColumns = 1000, kMostColumns = 6000;
constexpr std::int64_t kLeastWorkingSet = 64, kLargestFirstSet = 512;
constexpr double kInnerTolerance = 0.3;   // of what is allowed in all, within a working set
constexpr double kInnerGap = 0.1;         // of the present gap: early sets need no exact solution
constexpr std::size_t kMostDualRows = 3000;   // a step then takes a second
constexpr int kMostWorkingSets = 200;   // a penalty

// Working sets on the columns of one problem, from penalty to penalty. Borrows them.
class WorkingSets {
 public:
  WorkingSets(const Context& ctx, DesignColumns& columns, const std::vector<double>& y, const ElasticNetOptions& options)
      : ctx_(ctx), columns_(columns), y_(y), options_(options), residual_(y), squared_norms_(columns.squared_norms()) {
    w_.assign(squared_norms_.size(), 0.0);
    for (const double value : y) y_squared_ += value * value;
  }

  // Moves w to the solution; returns the gap, and adds the passes over coordinates to n_iter.
  double solve(double l1, double l2, std::int64_t& n_iter) {
    if (l1 == 0) return n_iter += solve_dual(l1, l2), ridge_gap(l2);
    double gap = look(l1, l2);
    for (int round = 0; round < kMostWorkingSets && !(gap >= 0 && gap <= options_.tol * y_squared_) && n_iter < options_.max_iter;
         ++round) {
      ctx_.check_stop();
      choose(l1, l2, gap);
      if (set_.empty()) break;
      n_iter += is_dual_smaller(l2) ? solve_dual(l1, l2) : descend(l1, l2, gap, options_.max_iter - n_iter);
      gap = look(l1, l2);
    }
    return gap;
  }
  const std::vector<double>& coef() const { return w_; }

 private:
  // X'r for the present residual, and the gap over all columns.
  double look(double l1, double l2) {
    dual_ = columns_.products(residual_);
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

  // The gap where the dual has no constraint, at the residual as its point.
  double ridge_gap(double l2) const {
    double rr = 0, ry = 0, ww = 0, squares = 0;
    for (std::size_t i = 0; i < y_.size(); ++i) rr += residual_[i] * residual_[i], ry += residual_[i] * y_[i];
    for (const double w : w_) ww += w * w;
    for (const double slope : columns_.products(residual_)) squares += options_.positive && slope < 0 ? 0.0 : slope * slope;
    return std::max(0.0, rr + l2 * ww / 2 - ry + squares / (2 * l2));
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
                                               std::max(std::clamp(static_cast<std::int64_t>(y_.size()), kLeastWorkingSet, kLargestFirstSet), 2 * support));
    std::ranges::nth_element(near, near.begin() + size);
    set_.clear();
    for (auto it = near.begin(); it != near.begin() + size; ++it) set_.push_back(it->second);
    std::ranges::sort(set_);
  }

  // Many columns at once: a step of the dual then costs less than a Gram matrix.
  bool is_dual_smaller(double l2) const {
    const std::size_t n = y_.size();
    return l2 > 0 && columns_.has_outer() && n <= kMostDualRows && set_.size() > std::max<std::size_t>(2 * n, kLargestFirstSet);
  }

  std::int64_t solve_dual(double l1, double l2) {
    DualPoint point = minimize_dual(ctx_, columns_,
                                    {.y = y_, .l1 = l1, .l2 = l2, .positive = options_.positive, .tolerance = kInnerTolerance * options_.tol},
                                    residual_);
    w_ = std::move(point.coef), residual_ = std::move(point.residual);
    return std::max<std::int64_t>(point.steps, 1);
  }

  std::int64_t descend(double l1, double l2, double gap, std::int64_t max_iter) {
    const auto m = static_cast<std::int64_t>(set_.size());
    TargetGram gram{columns_.gram(set_), y_squared_};
    std::vector<double> start;
    for (const std::int32_t j : set_) start.push_back(w_[static_cast<std::size_t>(j)]);
    PathBuffers buffers(ctx_, m, {1.0}, 0.0, 1.0, start);
    buffers.set_penalty(ctx_, l1, l2);
    ElasticNetOptions inner = options_;
    inner.tol = std::max(kInnerTolerance * options_.tol, kInnerGap * gap / y_squared_), inner.max_iter = max_iter;
    const ElasticNetPath path = buffers.path(gram);
    ctx_.ops<double>().convex->elastic_net_paths({&path, 1}, inner);
    const ElasticNetSolutions solved = buffers.solutions(1.0);
    for (std::size_t i = 0; i < set_.size(); ++i) w_[static_cast<std::size_t>(set_[i])] = solved.coef[i];
    const std::vector<double> values = columns_.fitted(set_, solved.coef);
    for (std::size_t i = 0; i < y_.size(); ++i) residual_[i] = y_[i] - values[i];
    return std::max<std::int64_t>(solved.n_iter[0], 1);
  }

  const Context& ctx_;
  DesignColumns& columns_;
  const std::vector<double>& y_;
  const ElasticNetOptions& options_;
  std::vector<double> residual_, squared_norms_, w_, dual_;
  std::vector<std::int32_t> set_;
  double y_squared_ = 0, dual_norm_ = 0;
};

}   // namespace

bool takes_gram(std::int64_t n_rows, std::int64_t n_cols) {
  return n_cols <= kFewColumns || (n_cols <= n_rows && n_cols <= kMostColumns);
}

namespace {

// Without an L1 penalty every column is in the working set at once.
bool is_dual_ridge(std::int64_t n, std::int64_t d, const std::vector<double>& alphas, double l1_ratio) {
  const bool all_penalised = std::ranges::all_of(alphas, [&](double a) { return a * (1 - l1_ratio) > 0; });
  return all_penalised && static_cast<std::size_t>(n) <= kMostDualRows && d > std::max<std::int64_t>(2 * n, kLargestFirstSet);
}

}   // namespace

bool takes_gram(std::int64_t n_rows, std::int64_t n_cols, const std::vector<double>& alphas, double l1_ratio) {
  const bool has_l1 = l1_ratio > 0 && std::ranges::all_of(alphas, [](double a) { return a > 0; });
  return takes_gram(n_rows, n_cols) || (!has_l1 && !is_dual_ridge(n_rows, n_cols, alphas, l1_ratio));
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
  ctx.ops<double>().convex->elastic_net_paths({&path, 1}, options);
  return buffers.solutions(n_rows);
}

namespace {

ElasticNetSolutions solve_by_sets(const Context& ctx, DesignColumns& columns, const std::vector<double>& y, const std::vector<double>& alphas,
                                  double l1_ratio, const ElasticNetOptions& options) {
  const auto rows = static_cast<double>(y.size());
  WorkingSets sets(ctx, columns, y, options);
  ElasticNetSolutions all;
  for (const double alpha : alphas) {
    std::int64_t n_iter = 0;
    all.gap.push_back(sets.solve(alpha * l1_ratio * rows, alpha * (1 - l1_ratio) * rows, n_iter) / rows);
    all.n_iter.push_back(n_iter);
    all.coef.insert(all.coef.end(), sets.coef().begin(), sets.coef().end());
  }
  return all;
}

}   // namespace

template <class T>
ElasticNetSolutions solve_elastic_nets(const Context& ctx, const LinearProblem<T>& problem, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options) {
  if (takes_gram(problem.n_rows(), problem.n_cols(), alphas, l1_ratio))
    return solve_elastic_nets(ctx, target_gram(ctx, problem), static_cast<double>(problem.n_rows()), alphas, l1_ratio, options);
  const std::vector<double> y = problem.targets(ctx);
  DenseColumns columns(ctx, problem.rows(ctx), y);
  return solve_by_sets(ctx, columns, y, alphas, l1_ratio, options);
}

template <class T>
ElasticNetSolutions solve_elastic_nets(const Context& ctx, const SparseProblem<T>& problem, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options) {
  SparseColumns<T> columns(ctx, problem);
  return solve_by_sets(ctx, columns, problem.target(0), alphas, l1_ratio, options);
}

template TargetGram target_gram(const Context&, const LinearProblem<float>&);
template TargetGram target_gram(const Context&, const LinearProblem<double>&);
template ElasticNetSolutions solve_elastic_nets(const Context&, const SparseProblem<float>&, const std::vector<double>&, double,
                                                const ElasticNetOptions&);
template ElasticNetSolutions solve_elastic_nets(const Context&, const SparseProblem<double>&, const std::vector<double>&, double,
                                                const ElasticNetOptions&);
template ElasticNetSolutions solve_elastic_nets(const Context&, const LinearProblem<float>&, const std::vector<double>&, double,
                                                const ElasticNetOptions&);
template ElasticNetSolutions solve_elastic_nets(const Context&, const LinearProblem<double>&, const std::vector<double>&, double,
                                                const ElasticNetOptions&);

}   // namespace kedge::engine
