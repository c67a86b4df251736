// ElasticNetCV and LassoCV: grids of alphas, folds, the choice, and the last fit.
#include "engine/estimators/linear/elastic_net_cv.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/elastic_net_folds.h"

namespace kedge::engine {
namespace {

using P = ElasticNetCVParams;
constexpr std::int64_t kDefaultFolds = 5;
constexpr double kResolution = 1e-15;   // numpy.finfo(float64).resolution

ParamSet<P> make_params(const char* name, bool has_ratio) {
  ParamSet<P> set(name);
  if (has_ratio)
    set.any("l1_ratio", &P::l1_ratio, {number_form(between(0, 1)), array_form()},
            "Share of the L1 penalty, or a list to choose from.");
  set.add("eps", &P::eps, above(0), "The smallest alpha of a grid, relative to the largest.")
      .any("alphas", &P::alphas, {integer_form(at_least(1)), array_form()}, "Number of alphas of a grid, or a list.")
      .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which is not penalised.")
      .ignore("precompute", "auto", {string_form({"auto"}), boolean_form(), array_form()})
      .add("max_iter", &P::max_iter, at_least(1), "Largest number of passes over the coordinates.")
      .add("tol", &P::tol, at_least(0), "Stop when the duality gap is at most this part of the target's sum of squares.")
      .ignore("copy_X", true, {boolean_form()})
      .add("cv", &P::cv, at_least(2), "Number of folds; null for 5.")
      .ignore("verbose", false, {boolean_form(), integer_form()})
      .ignore("n_jobs", nullptr, {integer_form(), null_form()})
      .add("positive", &P::positive, "Coefficients of at least 0.")
      .random_state(&P::random_state)
      .add("selection", &P::selection, {"cyclic", "random"}, "Coordinates in order, or drawn.");
  return set;
}
const ParamSet<P>& elastic_net_params() {
  static const ParamSet<P> set = make_params("ElasticNetCV", true);
  return set;
}
const ParamSet<P>& lasso_params() {
  static const ParamSet<P> set = make_params("LassoCV", false);
  return set;
}
P with_ratio_one(P params) {
  params.l1_ratio = 1.0;
  return params;
}

schema::EstimatorInfo info_of(const char* name, const char* doc, const ParamSet<P>& params, bool has_ratio) {
  std::vector<std::string> deviations = elastic_net_deviations();
  deviations.push_back("cv is a number of folds (KFold without shuffling), not a splitter.");
  std::vector<std::string> attributes{"alpha_", "alphas_", "coef_", "intercept_", "mse_path_", "dual_gap_", "n_iter_"};
  if (has_ratio) attributes.push_back("l1_ratio_");
  return {.name = name,
          .kind = "regressor",
          .family = "linear_model",
          .doc = doc,
          .params = params.infos(),
          .attributes = attributes,
          .deviations = deviations};
}

// numpy.geomspace(top, top * eps, count).
std::vector<double> geometric(double top, double eps, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count), top);
  const double first = std::log10(top), last = std::log10(top * eps);
  for (std::int64_t i = 1; i < count; ++i)
    values[static_cast<std::size_t>(i)] =
        i + 1 == count ? top * eps
                       : std::pow(10.0, first + (last - first) * static_cast<double>(i) / static_cast<double>(count - 1));
  return values;
}

}   // namespace

template <class T>
ElasticNetCVModel<T>::ElasticNetCVModel(const char* name, ElasticNetCVParams params, bool has_ratio)
    : name_(name), params_(std::move(params)), has_ratio_(has_ratio) {
  const auto* one = std::get_if<double>(&params_.l1_ratio.data);
  ratios_ = one ? std::vector<double>{*one} : numbers_of(params_.l1_ratio).value_or(std::vector<double>{});
  if (ratios_.empty()) refuse_param(name, "l1_ratio", params_.l1_ratio, "must have at least one number");
  const bool makes_grid = std::holds_alternative<std::int64_t>(params_.alphas.data);
  for (const double ratio : ratios_) {
    if (!(ratio >= 0 && ratio <= 1)) refuse_param(name, "l1_ratio", params_.l1_ratio, "must have numbers between 0 and 1");
    if (ratio == 0 && makes_grid)
      refuse_param(name, "l1_ratio", params_.l1_ratio,
                   "must not be 0 unless alphas is a list: a grid is made for the L1 penalty");
  }
  if (makes_grid) return;
  const auto list = numbers_of(params_.alphas).value_or(std::vector<double>{});
  if (list.empty()) refuse_param(name, "alphas", params_.alphas, "must have at least one number");
  for (const double alpha : list)
    if (!(alpha >= 0)) refuse_param(name, "alphas", params_.alphas, "must not have negative numbers");
}

template <class T>
std::vector<std::vector<double>> ElasticNetCVModel<T>::alpha_grids(const Context& ctx, const LinearProblem<T>& problem) const {
  std::vector<std::vector<double>> grids;
  const auto* count = std::get_if<std::int64_t>(&params_.alphas.data);
  if (!count) {
    std::vector<double> list = *numbers_of(params_.alphas);
    std::ranges::sort(list, std::greater<>{});
    return std::vector<std::vector<double>>(ratios_.size(), list);
  }
  double largest = 0;
  for (const double slope : problem.slopes(ctx)) largest = std::max(largest, params_.positive ? slope : std::abs(slope));
  for (const double ratio : ratios_) {
    const double top = largest / (static_cast<double>(problem.n_rows()) * ratio);
    grids.push_back(top <= kResolution ? std::vector<double>(static_cast<std::size_t>(*count), kResolution)
                                       : geometric(top, params_.eps, *count));
  }
  return grids;
}

template <class T>
void ElasticNetCVModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_, X);
  const std::vector<FoldRange> folds = fold_ranges(name_, X.n_rows(), params_.cv.value_or(kDefaultFolds));
  n_folds_ = static_cast<std::int64_t>(folds.size());
  const LinearProblem<T> problem(ctx, name_, X, y.device_values(ctx),
                                 normalised_weights(ctx, y.device_weights(ctx)).view(), params_.fit_intercept);
  const ElasticNetOptions options =
      descent_options(ctx, params_.tol, params_.max_iter, params_.positive, params_.selection, params_.random_state);
  alphas_ = alpha_grids(ctx, problem);
  mse_ = elastic_net_fold_errors(ctx, name_, X, y, problem, params_.fit_intercept, folds, ratios_, alphas_, options);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < ratios_.size(); ++r) {
    for (std::size_t a = 0; a < alphas_[r].size(); ++a) {
      const auto first = mse_.begin() + static_cast<std::ptrdiff_t>((r * alphas_[r].size() + a) * folds.size());
      const double mean = std::accumulate(first, first + n_folds_, 0.0) / static_cast<double>(n_folds_);
      if (mean < best) best = mean, alpha_ = alphas_[r][a], l1_ratio_ = ratios_[r];
    }
  }
  const ElasticNetSolutions solved = solve_elastic_nets(ctx, problem, {alpha_}, l1_ratio_, options);
  coef_ = solved.coef, dual_gap_ = solved.gap[0], n_iter_ = solved.n_iter[0];
  intercept_ = problem.intercepts(coef_)[0];
}

template <class T>
std::vector<double> ElasticNetCVModel<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap ElasticNetCVModel<T>::attributes() const {
  schema::ValueMap map{
      {"alpha_", alpha_}, {"coef_", coef_}, {"intercept_", intercept_}, {"dual_gap_", dual_gap_}, {"n_iter_", n_iter_}};
  const bool one_grid = ratios_.size() == 1 || !std::holds_alternative<std::int64_t>(params_.alphas.data);
  schema::ValueList grids, paths;
  const std::size_t entries = alphas_.empty() ? 0 : alphas_[0].size() * static_cast<std::size_t>(n_folds_);
  for (const auto& grid : alphas_) grids.emplace_back(grid);
  for (std::size_t r = 0; r < alphas_.size(); ++r)
    paths.push_back(rows_value(
        {mse_.begin() + static_cast<std::ptrdiff_t>(r * entries), mse_.begin() + static_cast<std::ptrdiff_t>((r + 1) * entries)},
        n_folds_));
  map.emplace_back("alphas_", one_grid && !grids.empty() ? grids[0] : schema::Value(grids));
  map.emplace_back("mse_path_", paths.size() == 1 ? paths[0] : schema::Value(paths));
  if (has_ratio_) map.emplace_back("l1_ratio_", l1_ratio_);
  return map;
}

template <class T>
ElasticNetCV<T>::ElasticNetCV(const schema::ValueMap& params)
    : ElasticNetCVModel<T>("ElasticNetCV", elastic_net_params().parse(params), true) {}
template <class T>
schema::EstimatorInfo ElasticNetCV<T>::info() {
  return info_of("ElasticNetCV", "ElasticNet with its penalty chosen by cross-validation.", elastic_net_params(), true);
}

template <class T>
LassoCV<T>::LassoCV(const schema::ValueMap& params)
    : ElasticNetCVModel<T>("LassoCV", with_ratio_one(lasso_params().parse(params)), false) {}
template <class T>
schema::EstimatorInfo LassoCV<T>::info() {
  return info_of("LassoCV", "Lasso with its penalty chosen by cross-validation.", lasso_params(), false);
}

template <class T>
void ElasticNetCVModel<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.field("dual_gap", dual_gap_);
  archive.field("alpha", alpha_);
  archive.field("l1_ratio", l1_ratio_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.number("n_folds", n_folds_, 1, kMaxSize);
  archive.field("ratios", ratios_, kAnySize);
  archive.list("alphas", alphas_, [&](std::vector<double>& grid) {
    archive.field("grid", grid, alphas_[0].empty() ? kAnySize : static_cast<std::int64_t>(alphas_[0].size()));
  });
  archive.expect(!alphas_.empty() && alphas_.size() == ratios_.size(), "alphas", "is not one grid for each ratio");
  const std::size_t n_alphas = alphas_.empty() ? 0 : alphas_[0].size();
  archive.field("mse", mse_, static_cast<std::int64_t>(alphas_.size() * n_alphas), n_folds_);
}

template class ElasticNetCVModel<float>;
template class ElasticNetCVModel<double>;
template class ElasticNetCV<float>;
template class ElasticNetCV<double>;
template class LassoCV<float>;
template class LassoCV<double>;

}   // namespace kedge::engine
