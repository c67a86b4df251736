// Ridge models that share their problem, and their predictions.
#include "engine/estimators/ridge_model.h"

#include <fmt/core.h>

#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 24;   // predictions kept for the candidates of a search: 128 MB

}   // namespace

template <class T>
RidgeFamily<T>::RidgeFamily(RidgeProblem<T> problem, RidgeOptions options, std::string key, const std::set<double>& alphas)
    : problem_(std::move(problem)), options_(std::move(options)), key_(std::move(key)) {
  for (const double alpha : alphas) solutions_[alpha];
}

template <class T>
const RidgeSolution& RidgeFamily<T>::solution(const Context& ctx, double alpha) {
  RidgeSolution& found = solutions_[alpha];
  if (found.intercept.empty()) found = problem_.solve(ctx, {alpha}, options_);
  return found;
}

// By penalty, ascending: n x targets.
template <class T>
std::vector<std::vector<double>> RidgeFamily<T>::all_values(const Context& ctx, const Samples<T>& X) {
  std::vector<double> coef, intercept;
  for (const auto& [alpha, empty] : solutions_) {
    const RidgeSolution& one = solution(ctx, alpha);
    coef.insert(coef.end(), one.coef.begin(), one.coef.end());
    intercept.insert(intercept.end(), one.intercept.begin(), one.intercept.end());
  }
  const std::vector<double> together = linear_values(ctx, X, coef, intercept).to_host();
  const std::size_t targets = intercept.size() / solutions_.size();
  std::vector<std::vector<double>> apart(solutions_.size(), std::vector<double>(together.size() / solutions_.size()));
  for (std::size_t i = 0, from = 0; from < together.size(); i += targets)
    for (std::vector<double>& own : apart)
      for (std::size_t t = 0; t < targets; ++t) own[i + t] = together[from++];
  return apart;
}

template <class T>
Matrix<double> RidgeFamily<T>::values(const Context& ctx, const Samples<T>& X, double alpha) {
  const auto targets = problem_.linear().n_targets(), all = targets * static_cast<std::int64_t>(solutions_.size());
  if (!ctx.work || X.content.empty() || X.n_rows() * all > kMostValues) {
    const RidgeSolution& one = solution(ctx, alpha);
    return linear_values(ctx, X, one.coef, one.intercept);
  }
  const auto apart = ctx.work->get<std::vector<std::vector<double>>>("ridge predictions", key_ + " of " + X.content,
                                                                     [&] { return all_values(ctx, X); });
  const auto place = static_cast<std::size_t>(std::distance(solutions_.begin(), solutions_.find(alpha)));
  return Matrix<double>(ctx.memory(), X.n_rows(), targets, (*apart)[place]);
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
    return RidgeProblem<T>(ctx, owner, densified(ctx, std::string(owner) + " with these parameters", X), targets.Y, targets.n_targets,
                           targets.weights, options.fit_intercept);
  };
  if (!ctx.work || X.content.empty() || alphas.size() > 1) {
    solution_ = make_problem().solve(ctx, alphas, options);
    return;
  }
  std::string key = work_key(X.content, more, options);
  std::set<double> wanted = ctx.work->wanted(key);
  if (!wanted.contains(alphas[0])) wanted = {alphas[0]}, key += fmt::format(" {}", alphas[0]);   // nobody announced it
  family_ = ctx.work->get<RidgeFamily<T>>("ridge problem", key, [&] { return RidgeFamily<T>(make_problem(), options, key, wanted); });
  alpha_ = alphas[0], solution_ = family_->solution(ctx, alpha_);
}

template <class T>
Matrix<double> RidgeModel<T>::values(const Context& ctx, const Samples<T>& X) const {
  return family_ ? family_->values(ctx, X, alpha_) : linear_values(ctx, X, solution_.coef, solution_.intercept);
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
