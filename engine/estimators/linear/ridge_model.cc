// Ridge models that share their problem, and their predictions.
#include "engine/estimators/linear/ridge_model.h"

#include <fmt/core.h>

#include <numeric>

#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 24;   // predictions kept for the candidates of a search: 128 MB

template <class T>
RidgeValues own_values(const Context& ctx, const Samples<T>& X, const RidgeSolution& solution) {
  auto own = std::make_shared<const Matrix<double>>(linear_values(ctx, X, solution.coef, solution.intercept));
  const MatrixView<const double> view = own->view();
  return {std::move(own), view};
}

}   // namespace

template <class T>
RidgeFamily<T>::RidgeFamily(RidgeProblem<T> problem, RidgeOptions options, std::string key, const std::set<double>& alphas)
    : problem_(std::move(problem)), options_(std::move(options)), key_(std::move(key)) {
  for (const double alpha : alphas) solutions_[alpha];
}

template <class T>
const RidgeSolution& RidgeFamily<T>::solution(const Context& ctx, double alpha) {
  if (solutions_.begin()->second.intercept.empty()) {
    std::vector<double> alphas;
    for (const auto& [penalty, empty] : solutions_) alphas.push_back(penalty);
    std::vector<RidgeSolution> found = problem_.solve_each(ctx, alphas, options_);
    for (std::size_t i = 0; i < alphas.size(); ++i) solutions_[alphas[i]] = std::move(found[i]);
  }
  return solutions_.at(alpha);
}

// n x targets of the penalties, ascending, side by side.
template <class T>
Matrix<double> RidgeFamily<T>::all_values(const Context& ctx, const Samples<T>& X) {
  std::vector<double> coef, intercept;
  for (const auto& [alpha, one] : solutions_) {
    coef.insert(coef.end(), one.coef.begin(), one.coef.end());
    intercept.insert(intercept.end(), one.intercept.begin(), one.intercept.end());
  }
  return linear_values(ctx, X, coef, intercept);
}

template <class T>
RidgeValues RidgeFamily<T>::values(const Context& ctx, const Samples<T>& X, double alpha) {
  const RidgeSolution& one = solution(ctx, alpha);
  const auto targets = problem_.linear().n_targets(), all = targets * static_cast<std::int64_t>(solutions_.size());
  if (!ctx.work || X.content.empty() || X.n_rows() * all > kMostValues) return own_values(ctx, X, one);
  std::shared_ptr<const Matrix<double>> together =
      ctx.work->get<Matrix<double>>("ridge predictions", key_ + " of " + X.content, [&] { return all_values(ctx, X); });
  const auto place = static_cast<std::int64_t>(std::distance(solutions_.begin(), solutions_.find(alpha)));
  const DevicePointer<const double> first = together->data() + place * targets;
  return {std::move(together), {first, X.n_rows(), targets, all}};
}

template <class T>
std::string RidgeModel<T>::work_key(const std::string& content, const std::string& more, const RidgeOptions& options) {
  return fmt::format("{} {} {} {} {}", content, options.fit_intercept, options.positive, options.solver == "svd", more);
}

template <class T>
void RidgeModel<T>::announce(WorkCache& plan, const std::string& content, const std::string& more, const RidgeOptions& options,
                             const std::vector<double>& alphas) {
  if (alphas.size() == 1) plan.want(work_key(content, more, options), alphas[0]);
}

template <class T>
void RidgeModel<T>::fit(const Context& ctx, const char* owner, const Samples<T>& X, const std::string& more,
                        const RidgeOptions& options, const std::vector<double>& alphas,
                        const std::function<RidgeTargets()>& make_targets) {
  family_.reset();
  if (solves_sparse(is_large_sparse(X), options)) {
    solution_ = solve_sparse_ridge(ctx, owner, X, make_targets(), alphas, options.fit_intercept);
    return;
  }
  const auto make_problem = [&] {
    const RidgeTargets targets = make_targets();
    return RidgeProblem<T>(ctx, owner, densified(ctx, std::string(owner) + " with these parameters", X), targets.Y,
                           targets.weights, options.fit_intercept);
  };
  if (!ctx.work || X.content.empty() || alphas.size() > 1) {
    solution_ = make_problem().solve(ctx, alphas, options);
    return;
  }
  std::string key = work_key(X.content, more, options);
  std::set<double> wanted = ctx.work->wanted(key);
  if (!wanted.contains(alphas[0])) wanted = {alphas[0]}, key += fmt::format(" {}", alphas[0]);   // it was not announced
  family_ =
      ctx.work->get<RidgeFamily<T>>("ridge problem", key, [&] { return RidgeFamily<T>(make_problem(), options, key, wanted); });
  alpha_ = alphas[0], solution_ = family_->solution(ctx, alpha_);
}

template <class T>
RidgeValues RidgeModel<T>::values(const Context& ctx, const Samples<T>& X) const {
  return family_ ? family_->values(ctx, X, alpha_) : own_values(ctx, X, solution_);
}

template <class T>
std::vector<double> RidgeModel<T>::host_values(const Context& ctx, const Samples<T>& X) const {
  const RidgeValues values = this->values(ctx, X);
  if (values.view.stride == values.view.cols) return values.held->to_host();
  std::vector<std::int32_t> columns(static_cast<std::size_t>(values.view.cols));
  std::iota(columns.begin(), columns.end(), 0);
  Matrix<double> apart(ctx.memory(), values.view.rows, values.view.cols);
  const Array<std::int32_t> all(ctx.memory(), std::span<const std::int32_t>(columns));
  ctx.ops<double>().categories->take_columns(values.view, {}, all.view(), apart.view());
  return apart.to_host();
}

template <class T>
void RidgeModel<T>::state(StateArchive& archive, std::int64_t n_targets) {
  if (archive.is_loading()) family_.reset();
  solution_.state(archive, n_targets);
}

template class RidgeFamily<float>;
template class RidgeFamily<double>;
template class RidgeModel<float>;
template class RidgeModel<double>;

}   // namespace kedge::engine
