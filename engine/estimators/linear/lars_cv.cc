// Errors of paths in folds, as scikit-learn interpolates them between knots.
#include "engine/estimators/linear/lars_cv.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/fold_grams.h"

namespace kedge::engine {
namespace {

using P = LarsParams;
constexpr const char *kLarsCV = "LarsCV", *kLassoLarsCV = "LassoLarsCV";
constexpr std::int64_t kDefaultFolds = 5;

ParamSet<P> make_params(const char* name, bool has_positive) {
  ParamSet<P> set(name);
  set.add("fit_intercept", &P::fit_intercept, "Fit an intercept.")
      .add("max_iter", &P::max_iter, at_least(0), "Largest number of steps.");
  add_lars_ignored(set)
      .add("cv", &P::cv, at_least(2), "Number of folds; null for 5.")
      .add("max_n_alphas", &P::max_n_alphas, at_least(1), "Alphas of the folds' knots that are compared, about.")
      .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  if (has_positive) set.add("positive", &P::positive, "Coefficients of at least 0.");
  return set;
}
const ParamSet<P>& lars_params() {
  static const ParamSet<P> set = make_params(kLarsCV, false);
  return set;
}
const ParamSet<P>& lasso_params() {
  static const ParamSet<P> set = make_params(kLassoLarsCV, true);
  return set;
}

schema::EstimatorInfo info_of(const char* name, const char* doc, const ParamSet<P>& params) {
  std::vector<std::string> deviations = lars_deviations();
  deviations.push_back("cv is a number of folds (KFold without shuffling), not a splitter.");
  return {.name = name,
          .kind = "regressor",
          .family = "linear_model",
          .doc = doc,
          .params = params.infos(),
          .attributes = {"active_", "alpha_", "alphas_", "coef_", "coef_path_", "cv_alphas_", "intercept_", "mse_path_",
                         "n_iter_"},
          .deviations = std::move(deviations)};
}

// Mean squared errors of a training set's path on its test rows, at any alpha. Knots are sorted by alpha, for a path of
// Lars may go back; errors between two are those of residuals on the line between theirs.
class PathErrors {
 public:
  PathErrors(const FoldGrams& grams, std::size_t fold, const TrainFold& train, const LarsPath& path, double largest)
      : weight_(grams.test_weight(fold)) {
    const std::size_t d = train.mean.size() - 1, p = d + 2;
    const std::vector<Knot> knots = sorted_knots(path, largest);
    std::vector<double> rows(knots.size() * p, 0.0);   // of each knot: coefficients, -1 for the target, the intercept
    for (std::size_t k = 0; k < knots.size(); ++k) {
      const double* w = path.coef.data() + knots[k].place * d;
      double* row = rows.data() + k * p;
      row[d] = -1, row[d + 1] = train.mean[d];
      for (std::size_t j = 0; j < d; ++j) row[j] = w[j], row[d + 1] -= w[j] * train.mean[j];
      alphas_.push_back(knots[k].alpha);
    }
    const std::vector<double> products = grams.neighbour_products(fold, rows);
    const auto middle = products.begin() + static_cast<std::ptrdiff_t>(knots.size());
    own_.assign(products.begin(), middle), next_.assign(middle, products.end());
  }

  double at(double alpha) const {
    if (alphas_.size() == 1) return std::max(0.0, own_[0]) / weight_;
    const auto right = std::ranges::lower_bound(alphas_, alpha);
    const auto k = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(right - alphas_.begin(), 1, static_cast<std::ptrdiff_t>(alphas_.size()) - 1));
    const double gap = alphas_[k] - alphas_[k - 1];
    const double share = gap > 0 ? (alpha - alphas_[k - 1]) / gap : 0.0, rest = 1 - share;
    const double sum = rest * rest * own_[k - 1] + 2 * share * rest * next_[k - 1] + share * share * own_[k];
    return std::max(0.0, sum) / weight_;
  }

 private:
  struct Knot {
    double alpha;
    std::size_t place;   // in the path
  };
  // With the last knot again at 0, and the first at the largest alpha that is asked for.
  static std::vector<Knot> sorted_knots(const LarsPath& path, double largest) {
    std::vector<Knot> knots;
    for (std::size_t k = path.alphas.size(); k-- > 0;) knots.push_back({path.alphas[k], k});
    if (knots.front().alpha != 0) knots.insert(knots.begin(), {0.0, knots.front().place});
    if (knots.back().alpha != largest) knots.push_back({largest, knots.back().place});
    std::ranges::stable_sort(knots, {}, &Knot::alpha);
    return knots;
  }

  std::vector<double> alphas_, own_, next_;   // squares of residuals, and their products with the next knot's
  double weight_;
};

}   // namespace

template <class T>
void LarsCVModel<T>::choose(const Context& ctx, const LinearProblem<T>& problem, const std::vector<FoldRange>& folds) {
  const P& params = this->params_;
  const FoldGrams grams(ctx, problem, folds, params.fit_intercept);
  const LarsOptions options{
      .is_lasso = this->is_lasso_, .positive = params.positive, .eps = params.eps, .max_iter = params.max_iter};
  std::vector<TrainFold> trains;
  std::vector<LarsPath> paths;
  std::vector<double> all;
  for (std::size_t f = 0; f < folds.size(); ++f) {
    trains.push_back(grams.train(f));
    paths.push_back(lars_path(ctx, this->name_, trains[f].gram.all.to_host(), trains[f].n_rows, options));
    all.insert(all.end(), paths[f].alphas.begin(), paths[f].alphas.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const std::size_t stride = std::max<std::size_t>(1, all.size() / static_cast<std::size_t>(params.max_n_alphas));
  cv_alphas_.clear();
  for (std::size_t i = 0; i < all.size(); i += stride) cv_alphas_.push_back(all[i]);
  mse_.assign(cv_alphas_.size() * folds.size(), 0.0);
  for (std::size_t f = 0; f < folds.size(); ++f) {
    const PathErrors errors(grams, f, trains[f], paths[f], cv_alphas_.back());
    for (std::size_t a = 0; a < cv_alphas_.size(); ++a) mse_[a * folds.size() + f] = errors.at(cv_alphas_[a]);
  }
}

template <class T>
void LarsCVModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const P& params = this->params_;
  require_rows(this->name_, X);
  const std::vector<FoldRange> folds = fold_ranges(this->name_, X.n_rows(), params.cv.value_or(kDefaultFolds));
  n_folds_ = static_cast<std::int64_t>(folds.size());
  const LinearProblem<T> problem(ctx, this->name_, X, y.device_values(ctx), {}, params.fit_intercept);
  choose(ctx, problem, folds);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < cv_alphas_.size(); ++a) {
    const auto first = mse_.begin() + static_cast<std::ptrdiff_t>(a * folds.size());
    const double mean = std::accumulate(first, first + n_folds_, 0.0) / static_cast<double>(n_folds_);
    if (mean < least) least = mean, alpha_ = cv_alphas_[a];
  }
  this->walk(ctx, problem, problem.gram(ctx).to_host(), alpha_, params.max_iter);
}

template <class T>
schema::ValueMap LarsCVModel<T>::attributes() const {
  schema::ValueMap map = LarsModel<T>::attributes();
  map.emplace_back("alpha_", alpha_);
  map.emplace_back("cv_alphas_", cv_alphas_);
  map.emplace_back("mse_path_", rows_value(mse_, n_folds_));
  return map;
}

template <class T>
void LarsCVModel<T>::state(StateArchive& archive) {
  LarsModel<T>::state(archive);
  archive.field("alpha", alpha_);
  archive.number("n_folds", n_folds_, 1, kMaxSize);
  archive.field("cv_alphas", cv_alphas_, kAnySize);
  archive.field("mse", mse_, static_cast<std::int64_t>(cv_alphas_.size()), n_folds_);
}

template <class T>
LarsCV<T>::LarsCV(const schema::ValueMap& params) : LarsCVModel<T>(kLarsCV, lars_params().parse(params), false) {}
template <class T>
schema::EstimatorInfo LarsCV<T>::info() {
  return info_of(kLarsCV, "Least angle regression, its end chosen by cross-validation.", lars_params());
}

template <class T>
LassoLarsCV<T>::LassoLarsCV(const schema::ValueMap& params)
    : LarsCVModel<T>(kLassoLarsCV, lasso_params().parse(params), true) {}
template <class T>
schema::EstimatorInfo LassoLarsCV<T>::info() {
  return info_of(kLassoLarsCV, "The lasso along the path of least angles, its penalty chosen by cross-validation.",
                 lasso_params());
}

template class LarsCVModel<float>;
template class LarsCVModel<double>;
template class LarsCV<float>;
template class LarsCV<double>;
template class LassoLarsCV<float>;
template class LassoLarsCV<double>;

}   // namespace kedge::engine
