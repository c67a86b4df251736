// Random subsets, what their models say of all rows, and the model of the best set. Ranks judge groups of subsets,
// which are those of one process.
#include "engine/estimators/meta/ransac.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/comm/ranks.h"
#include "engine/core/legacy_distributions.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/core/uploaded.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using P = RansacParams;
using schema::Value;
using schema::ValueMap;
using Vector = std::vector<double>;
constexpr const char *kName = "RANSACRegressor", *kLine = "LinearRegression";
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kEps = std::numeric_limits<double>::epsilon();
constexpr std::int64_t kMostTogether = 16, kTogetherCells = std::int64_t{1} << 22;   // of trials x rows: 32 MB

std::vector<schema::ParamForm> estimator_forms() {
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return forms;
}

const ParamSet<P>& param_set() {
  const auto count = [] { return std::vector{integer_form(at_least(0)), string_form({"inf"})}; };
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("estimator", &P::estimator, estimator_forms(), "Is fitted to the subsets; null takes LinearRegression.")
          .any("min_samples", &P::min_samples, {integer_form(at_least(1)), number_form(between(0, 1)), null_form()},
               "Rows of a subset: a number, or a share of all; null: one more than columns, of LinearRegression.")
          .add("residual_threshold", &P::residual_threshold, at_least(0),
               "Largest loss of an inlier; null: the median deviation of the target from its median.")
          .ignore("is_data_valid", nullptr, {null_form()})
          .ignore("is_model_valid", nullptr, {null_form()})
          .any("max_trials", &P::max_trials, count(), "Largest number of subsets.")
          .any("max_skips", &P::max_skips, count(), "Largest number of subsets with too few inliers.")
          .any("stop_n_inliers", &P::stop_n_inliers, count(), "Stop when so many rows agree.")
          .any("stop_score", &P::stop_score, {number_form(), string_form({"inf"})}, "Stop at this R^2 of the inliers.")
          .add("stop_probability", &P::stop_probability, between(0, 1),
               "Stop when a subset without outliers was drawn with this probability.")
          .add("loss", &P::loss, {"absolute_error", "squared_error"}, "What is compared with residual_threshold.")
          .random_state(&P::random_state);
  return set;
}

double number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&value.data);
  return number ? *number : kInfinity;
}

double median(Vector values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Trials after which a subset without outliers was drawn with this probability.
double enough_trials(double n_inliers, double n_rows, double size, double probability) {
  const double missed = std::max(kEps, 1 - probability), fails = std::max(kEps, 1 - std::pow(n_inliers / n_rows, size));
  if (missed == 1) return 0;
  if (fails == 1) return kInfinity;
  return std::abs(std::ceil(std::log(missed) / std::log(fails)));
}

// R^2 from sums over some rows.
double r2_of(double count, double residual_squares, double sum, double squares) {
  if (count < 2) return std::numeric_limits<double>::quiet_NaN();
  const double spread = squares - sum * sum / count;
  if (spread > 0) return 1 - residual_squares / spread;
  return residual_squares > 0 ? 0.0 : 1.0;
}

}   // namespace

// How the models of some subsets do on all rows.
template <class T>
class RANSACRegressor<T>::Search {
 public:
  Search(const Context& ctx, RANSACRegressor& owner, const Samples<T>& X, const Target& y)
      : ctx_(ctx), owner_(owner), X_(X), y_(y), n_(X.n_rows()), is_squared_(owner.params_.loss == "squared_error") {
    Vector away = y.values;
    const double centre = median(y.values);
    for (double& value : away) value = std::abs(value - centre);
    const double own = owner.params_.residual_threshold.value_or(median(std::move(away)));
    threshold_ = is_squared_ ? std::sqrt(own) : own;
    if (!owner.is_line_) return;
    const MatrixView<const double> target = y.device_values(ctx);
    centred_ = Matrix<double>(ctx.memory(), n_, 2);   // the target less its median, and the squares
    const Matrix<double> middle(ctx.memory(), 1, 1, Vector{centre});
    const MatrixView<double> first(centred_.data(), n_, 1, 2), second(centred_.data() + 1, n_, 1, 2);
    ctx.ops<double>().maps->combine(Binary::kSubtract, target, middle.view(), first);
    ctx.ops<double>().maps->map(Unary::kSquare, 1, first, second);
  }

  std::int64_t most_together() const {
    return owner_.is_line_ ? std::clamp<std::int64_t>(kTogetherCells / n_, 1, kMostTogether) : 1;
  }

  // Fits each subset. For lines, losses stay on the device; otherwise the one model's answers are fetched.
  void judge(const std::vector<std::vector<std::int32_t>>& subsets) {
    Vector coef, intercepts;
    Context quiet = ctx_;   // what it says of few rows is no news
    quiet.emit = {};
    for (const std::vector<std::int32_t>& subset : subsets) {
      ctx_.check_stop();
      owner_.predictor_.fit(quiet, kName, rows_at(ctx_, X_, subset), rows_at(y_, subset));
      if (!owner_.is_line_) return judge_answers(owner_.predictor_.values(ctx_, kName, X_));
      const ValueMap map = owner_.predictor_.last_attributes();
      const Vector own = numbers_of(*find_value(map, "coef_")).value();
      coef.insert(coef.end(), own.begin(), own.end());
      intercepts.push_back(std::get<double>(find_value(map, "intercept_")->data));
    }
    const auto count = static_cast<std::int64_t>(subsets.size());
    sizes_ = linear_values(ctx_, X_, coef, intercepts);
    MapOps<double>& maps = *ctx_.ops<double>().maps;
    maps.combine(Binary::kSubtract, std::as_const(sizes_).view(), y_.device_values(ctx_), sizes_.view());
    maps.map(Unary::kAbs, 1, std::as_const(sizes_).view(), sizes_.view());
    outside_ = Matrix<double>(ctx_.memory(), n_, count);
    const Array<double> thresholds(ctx_.memory(), std::span<const double>(Vector(subsets.size(), threshold_)));
    maps.map_columns(ColumnMap::kAbove, thresholds.view(), {}, std::as_const(sizes_).view(), outside_.view());
    Array<double> sums(ctx_.memory(), count);
    ctx_.ops<double>().rows->column_sums(std::as_const(outside_).view(), sums.view());
    counts_ = sums.to_host();
    for (double& c : counts_) c = static_cast<double>(n_) - c;
  }

  double n_inliers(std::size_t trial) const { return counts_[trial]; }

  // R^2 of the inliers.
  double score(std::size_t trial) {
    if (!owner_.is_line_) return host_score_;
    weights_ = Matrix<double>(ctx_.memory(), n_, 1);
    const std::int64_t cols = outside_.cols(), column = static_cast<std::int64_t>(trial);
    const Array<double> one(ctx_.memory(), std::span<const double>(Vector{1.0})),
        minus(ctx_.memory(), std::span<const double>(Vector{-1.0}));
    ctx_.ops<double>().tables->gather(MatrixView<const double>(outside_.data() + column, n_, 1, cols), {}, one.view(),
                                      minus.view(),
                                      weights_.view());   // 1 - outside
    Matrix<double> squares(ctx_.memory(), n_, 1);
    ctx_.ops<double>().maps->map(Unary::kSquare, 1, MatrixView<const double>(sizes_.data() + column, n_, 1, cols),
                                 squares.view());
    Array<double> sums(ctx_.memory(), 3);
    const VectorView<const double> inside(weights_.data(), n_);
    ctx_.ops<double>().rows->weighted_sums(std::as_const(centred_).view(), inside, sums.view().slice(0, 2));
    ctx_.ops<double>().rows->weighted_sums(std::as_const(squares).view(), inside, sums.view().slice(2, 1));
    const Vector found = sums.to_host();
    return r2_of(counts_[trial], found[2], found[0], found[1]);
  }

  // 1 for each inlier: of the trial whose score() was asked for last.
  Vector mask() const { return owner_.is_line_ ? weights_.to_host() : host_mask_; }
  // Keeps it on the device until it is wanted.
  Matrix<double> take_weights() { return std::move(weights_); }

 private:
  void judge_answers(const Vector& answers) {
    host_mask_.assign(answers.size(), 0.0);
    double count = 0, residual = 0, sum = 0, squares = 0;
    const double centre = y_.values.empty() ? 0.0 : y_.values[0];
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const double error = answers[i] - y_.values[i], off = y_.values[i] - centre;
      if (!(std::abs(error) <= threshold_)) continue;
      host_mask_[i] = 1, ++count;
      residual += error * error, sum += off, squares += off * off;
    }
    counts_ = {count};
    host_score_ = r2_of(count, residual, sum, squares);
  }

  const Context& ctx_;
  RANSACRegressor& owner_;
  const Samples<T>& X_;
  const Target& y_;
  std::int64_t n_;
  bool is_squared_;
  double threshold_ = 0, host_score_ = 0;
  Matrix<double> centred_, sizes_, outside_, weights_;   // sizes_, outside_: rows x trials
  Vector counts_, host_mask_;
};

// The search for the best trial, trial by trial.
template <class T>
struct RANSACRegressor<T>::Progress {
  double trials = 0;   // after which it ends
  double most = 1, best = -kInfinity;
  bool is_found = false, is_done = false;
  Matrix<double> best_rows = {};   // of lines, on one process
  Subsets best_group = {};         // on ranks: where the best trial is
  std::size_t best_trial = 0;
};

// Whether the next trial is the best so far; score() is asked for if it may be.
template <class T>
template <class Score>
bool RANSACRegressor<T>::is_best(double n_inliers, const Score& score, const Limits& limits, Progress& so_far) {
  ++n_trials_;
  if ((so_far.is_done = static_cast<double>(n_skips_) > limits.max_skips)) return false;
  if (n_inliers < so_far.most) {
    ++n_skips_;
    return false;
  }
  const double own = score();
  if (n_inliers == so_far.most && own < so_far.best) return false;
  so_far.most = n_inliers, so_far.best = own, so_far.is_found = true;
  so_far.trials =
      std::min(so_far.trials, enough_trials(n_inliers, limits.n_rows, limits.wanted, params_.stop_probability));
  so_far.is_done = n_inliers >= number_of(params_.stop_n_inliers) || own >= number_of(params_.stop_score);
  return true;
}

template <class T>
void RANSACRegressor<T>::judge_alone(const Subsets& subsets, Search& search, const Limits& limits, Progress& so_far) {
  search.judge(subsets);
  for (std::size_t i = 0; i < subsets.size() && !so_far.is_done && static_cast<double>(n_trials_) < so_far.trials;
       ++i) {
    if (!is_best(search.n_inliers(i), [&] { return search.score(i); }, limits, so_far)) continue;
    if (is_line_) so_far.best_rows = search.take_weights();
    else inliers_ = search.mask();
  }
}

// Each group by one rank, which brings inliers and scores of its trials; all ranks then go through them in order. What
// fails in a group is found again, and said, if the search comes that far.
template <class T>
void RANSACRegressor<T>::judge_on_ranks(const Context& ctx, const std::vector<Subsets>& groups, Search& search,
                                        const Limits& limits, Progress& so_far) {
  const double most = so_far.most;
  const auto judged = numbers_of_fits(ctx, std::vector<PlannedFit>(groups.size()), [&](const Context&, std::size_t g) {
    Vector numbers;
    if (groups[g].empty()) return numbers;
    try {
      search.judge(groups[g]);
    } catch (const schema::Error& error) {
      if (error.code == schema::ErrorCode::kCancelled) throw;
      return numbers;
    }
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      numbers.push_back(search.n_inliers(i));
      numbers.push_back(numbers.back() < most ? 0.0 : search.score(i));
    }
    return numbers;
  });
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].size() && !so_far.is_done && static_cast<double>(n_trials_) < so_far.trials;
         ++i) {
      if (judged[g].empty()) search.judge(groups[g]);   // fails
      if (is_best(judged[g].at(2 * i), [&] { return judged[g].at(2 * i + 1); }, limits, so_far))
        so_far.best_group = groups[g], so_far.best_trial = i;
    }
}

template <class T>
RANSACRegressor<T>::RANSACRegressor(const ValueMap& params)
    : params_(param_set().parse(params)),
      predictor_(params_.estimator.is_null() ? Value(ValueMap{{"estimator", kLine}}) : params_.estimator,
                 "params.estimator", NestedPredictor<T>::Kind::kRegressor) {
  const auto* steps = std::get_if<schema::ValueList>(&params_.estimator.data);
  is_line_ = predictor_.estimator() == kLine && (!steps || steps->size() == 1);
  if (params_.min_samples.is_null() && !is_line_)
    refuse_param(kName, "min_samples", nullptr, "must be given unless the estimator is LinearRegression");
}

template <class T>
schema::EstimatorInfo RANSACRegressor<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Robust regression: the model that most rows agree with, of models of few random rows.",
          .params = param_set().infos(),
          .attributes = {"estimator_", "inlier_mask_", "n_skips_invalid_data_", "n_skips_invalid_model_",
                         "n_skips_no_inliers_", "n_trials_"},
          .deviations = {"is_data_valid and is_model_valid are refused: functions of Python do not travel.",
                         "An estimator with draws of its own has its own seed, and does not draw from this one's.",
                         "inlier_mask_ has 1 for true and 0 for false."}};
}

template <class T>
void RANSACRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  const auto n = static_cast<double>(X.n_rows());
  const auto* share = std::get_if<double>(&params_.min_samples.data);
  const double wanted = params_.min_samples.is_null() ? static_cast<double>(X.n_cols()) + 1
                        : share && *share < 1         ? std::ceil(*share * n)
                                                      : number_of(params_.min_samples);
  require(wanted <= n, schema::ErrorCode::kBadData, "{}: min_samples is {}, must be at most the {} rows", kName, wanted,
          X.n_rows());
  require(wanted >= 1, schema::ErrorCode::kBadData, "{}: min_samples is a share of 0 rows, must be at least one row",
          kName);
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  Search search(ctx, *this, X, y);
  const Limits limits{.n_rows = n, .wanted = wanted, .max_skips = number_of(params_.max_skips)};
  Progress so_far{.trials = number_of(params_.max_trials)};
  std::int64_t together = 1;
  double n_drawn = 0;
  n_trials_ = n_skips_ = 0;
  const Ranks* const ranks = ranks_of_job();
  while (!so_far.is_done && static_cast<double>(n_trials_) < so_far.trials) {
    std::vector<Subsets> groups(static_cast<std::size_t>(ranks ? ranks->size() : 1));
    for (Subsets& group : groups) {   // whose sizes do not depend on what was found
      for (std::int64_t i = 0; i < together && n_drawn < number_of(params_.max_trials); ++i, ++n_drawn) {
        const std::vector<std::int64_t> drawn = legacy_sample(random, X.n_rows(), static_cast<std::int64_t>(wanted));
        group.emplace_back(drawn.begin(), drawn.end());
      }
      together = std::min(2 * together, search.most_together());
    }
    if (ranks) judge_on_ranks(ctx, groups, search, limits, so_far);
    else judge_alone(groups.front(), search, limits, so_far);
  }
  require(so_far.is_found, schema::ErrorCode::kBadData, "{}: no model of {} subsets has an inlier{}", kName, n_trials_,
          static_cast<double>(n_skips_) > limits.max_skips ? ", and max_skips ended the search" : "");
  if (static_cast<double>(n_skips_) > limits.max_skips)
    ctx.warn(std::string(kName) + ": the search ended early, because more subsets than max_skips had too few inliers");
  if (!so_far.best_group.empty()) {
    search.judge(so_far.best_group);
    search.score(so_far.best_trial);
    inliers_ = search.mask();
  } else if (is_line_) {
    inliers_ = so_far.best_rows.to_host();
  }
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < inliers_.size(); ++i)
    if (inliers_[i] > 0) rows.push_back(static_cast<std::int32_t>(i));
  predictor_.fit(ctx, kName, rows_at(ctx, X, rows), rows_at(y, rows));
}

template <class T>
std::vector<double> RANSACRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return predictor_.values(ctx, kName, X);
}

template <class T>
ValueMap RANSACRegressor<T>::attributes() const {
  return {{"estimator_", predictor_.attributes()},    {"inlier_mask_", inliers_},
          {"n_skips_invalid_data_", std::int64_t{0}}, {"n_skips_invalid_model_", std::int64_t{0}},
          {"n_skips_no_inliers_", n_skips_},          {"n_trials_", n_trials_}};
}

template <class T>
void RANSACRegressor<T>::state(StateArchive& archive) {
  predictor_.state(archive);
  archive.field("inliers", inliers_, kAnySize);
  archive.number("n_trials", n_trials_, 0, kMaxSize);
  archive.number("n_skips", n_skips_, 0, kMaxSize);
}

template class RANSACRegressor<float>;
template class RANSACRegressor<double>;

}   // namespace kedge::engine
