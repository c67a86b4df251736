// Boosting by weights of rows: scikit-learn's steps and random numbers around any predictor.
#include "engine/estimators/meta/ada_boost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/meta/seeded_steps.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

constexpr const char *kClassifier = "AdaBoostClassifier", *kRegressor = "AdaBoostRegressor";
constexpr double kEps = std::numeric_limits<double>::epsilon();

ParamSet<AdaBoostParams> make_params(const char* owner, const char* estimator_doc) {
  using P = AdaBoostParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return ParamSet<P>(owner)
      .any("estimator", &P::estimator, std::move(forms), estimator_doc)
      .add("n_estimators", &P::n_estimators, between(1, 1e6), "Most copies of the estimator.")
      .add("learning_rate", &P::learning_rate, above(0), "By how much each copy counts and changes the weights.")
      .random_state(&P::random_state);
}

const ParamSet<AdaBoostParams>& classifier_params() {
  static const ParamSet<AdaBoostParams> set =
      make_params(kClassifier, "What is copied; null takes DecisionTreeClassifier of depth 1.");
  return set;
}

const ParamSet<AdaBoostParams>& regressor_params() {
  static const ParamSet<AdaBoostParams> set =
      make_params(kRegressor, "What is copied; null takes DecisionTreeRegressor of depth 3.")
          .add("loss", &AdaBoostParams::loss, {"linear", "square", "exponential"}, "Of a row's error.");
  return set;
}

schema::EstimatorInfo info_of(const char* name, const char* kind, const char* doc,
                              std::vector<schema::ParamInfo> params) {
  return {.name = name,
          .kind = kind,
          .family = "ensemble",
          .doc = doc,
          .params = std::move(params),
          .attributes = {"estimators_", "estimator_weights_", "estimator_errors_", "feature_importances_"}};
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}   // namespace

template <class T>
BoostedCopies<T>::BoostedCopies(const char* owner, AdaBoostParams params, Kind kind, const char* tree,
                                std::int64_t depth)
    : owner_(owner),
      params_(std::move(params)),
      kind_(kind),
      estimator_(params_.estimator.is_null()
                     ? Value(schema::ValueMap{{"estimator", tree}, {"params", schema::ValueMap{{"max_depth", depth}}}})
                     : params_.estimator) {
  const NestedPredictor<T> made(estimator_, "params.estimator", kind);
  if (kind == Kind::kClassifier && !made.takes_weights())
    refuse_param(owner, "estimator", made.estimator(), "must be one that takes sample weights");
}

template <class T>
template <class Boost>
void BoostedCopies<T>::run(const Context& ctx, const Target& y, std::int64_t n_rows, const Boost& boost) {
  LegacyRandom random(
      static_cast<std::uint32_t>(params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed));
  const auto n = static_cast<std::size_t>(params_.n_estimators);
  copies_.clear(), weights_.assign(n, 0.0), errors_.assign(n, 1.0);
  std::vector<double> rows = y.weights;
  if (rows.empty()) rows.assign(static_cast<std::size_t>(n_rows), 1.0);
  const double all = sum_of(rows);
  require(all > 0, ErrorCode::kBadData, "{}: the weights of the rows sum to 0, must be more", owner_);
  for (double& weight : rows) weight /= all;
  std::vector<char> is_out(rows.size());
  std::ranges::transform(rows, is_out.begin(), [](double weight) { return weight == 0; });
  for (std::size_t i = 0; i < n; ++i) {
    ctx.check_stop();
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = is_out[r] ? 0.0 : std::max(rows[r], kEps);
    copies_.emplace_back(with_random_states(estimator_, random), "params.estimator", kind_);
    const Step step = boost(copies_.back(), rows, i, random);
    if (!step.is_kept) copies_.pop_back();
    if (!step.is_kept || step.is_last) return;
    weights_[i] = step.weight, errors_[i] = step.error;
    ctx.progress("estimators", static_cast<std::int64_t>(i) + 1, params_.n_estimators, "estimators");
    if (step.error == 0) return;
    const double sum = sum_of(rows);
    if (!std::isfinite(sum))
      return ctx.warn(fmt::format("{}: the weights of the rows overflowed after {} estimators; lower learning_rate",
                                  owner_, i + 1));
    if (!(sum > 0)) return;
    for (double& weight : rows) weight /= sum;
  }
}

template <class T>
schema::ValueMap BoostedCopies<T>::attributes() const {
  schema::ValueList estimators;
  std::vector<double> importances;
  double total = 0;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    estimators.push_back(copies_[i].attributes());
    const schema::ValueMap own = copies_[i].last_attributes();
    const Value* const found = find_value(own, "feature_importances_");
    const auto shares = found ? numbers_of(*found) : std::nullopt;
    if (!shares) continue;
    importances.resize(shares->size(), 0.0);
    for (std::size_t j = 0; j < shares->size(); ++j) importances[j] += weights_[i] * (*shares)[j];
  }
  for (const double weight : weights_) total += weight;
  for (double& importance : importances) importance /= total;
  schema::ValueMap map{
      {"estimators_", std::move(estimators)}, {"estimator_weights_", weights_}, {"estimator_errors_", errors_}};
  if (!importances.empty() && total > 0) map.emplace_back("feature_importances_", importances);
  return map;
}

template <class T>
void BoostedCopies<T>::state(StateArchive& archive) {
  std::size_t n = copies_.size();
  archive.number("n_copies", n, 1, params_.n_estimators);
  if (archive.is_loading()) {
    copies_.clear();
    for (std::size_t i = 0; i < n; ++i) copies_.emplace_back(estimator_, "params.estimator", kind_);
  }
  archive.field("weights", weights_, params_.n_estimators);
  archive.field("errors", errors_, params_.n_estimators);
  for (NestedPredictor<T>& copy : copies_) {
    const StateArchive::Scope scope(archive, owner_, archive.n_features());
    copy.state(archive);
  }
}

template <class T>
AdaBoostClassifier<T>::AdaBoostClassifier(const schema::ValueMap& params)
    : boosted_(kClassifier, classifier_params().parse(params), NestedPredictor<T>::Kind::kClassifier,
               "DecisionTreeClassifier", 1) {}

template <class T>
schema::EstimatorInfo AdaBoostClassifier<T>::info() {
  schema::EstimatorInfo info =
      info_of(kClassifier, "classifier",
              "Fit copies of a classifier, each with more weight on the rows that those before it got wrong.",
              classifier_params().infos());
  info.attributes.insert(info.attributes.begin(), {"classes_", "n_classes_"});
  return info;
}

template <class T>
void AdaBoostClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kClassifier, X);
  present_ = PresentClasses(y);
  const double n_classes = present_.size(), rate = boosted_.params().learning_rate;
  const auto n = static_cast<std::size_t>(boosted_.params().n_estimators);
  boosted_.run(ctx, y, X.n_rows(),
               [&](NestedPredictor<T>& copy, std::vector<double>& rows, std::size_t i, LegacyRandom&) {
                 Target weighted = y;
                 weighted.weights = rows;
                 copy.fit(ctx, kClassifier, X, weighted);
                 const std::vector<std::int32_t> codes = copy.codes(ctx, kClassifier, X);
                 double wrong = 0;
                 for (std::size_t r = 0; r < rows.size(); ++r) wrong += codes[r] != y.codes[r] ? rows[r] : 0.0;
                 typename BoostedCopies<T>::Step step{.error = wrong / sum_of(rows)};
                 if (step.error <= 0) {
                   step.error = 0;
                   return step;
                 }
                 step.is_kept = step.error < 1 - 1 / n_classes;
                 require(step.is_kept || i > 0, ErrorCode::kBadData,
                         "{}: the estimator is wrong for {:.3g} of the weight, no better than chance with {} classes",
                         kClassifier, step.error, present_.size());
                 step.weight = rate * (std::log((1 - step.error) / step.error) + std::log(n_classes - 1));
                 for (std::size_t r = 0; i + 1 < n && r < rows.size(); ++r)
                   if (codes[r] != y.codes[r] && rows[r] > 0) rows[r] = std::exp(std::log(rows[r]) + step.weight);
                 return step;
               });
}

// Each copy votes by its weight for one class, and against the others. Of two classes that is the decision, half of it
// for and half against where shares are made of it.
template <class T>
Matrix<double> AdaBoostClassifier<T>::scores(const Context& ctx, const Samples<T>& X, bool for_shares) const {
  const auto k = static_cast<std::size_t>(present_.size()), n = static_cast<std::size_t>(X.n_rows());
  std::vector<double> sums(n * k, 0.0);
  const double total = sum_of(boosted_.weights());
  for (std::size_t m = 0; k > 1 && m < boosted_.copies().size(); ++m) {
    const std::vector<std::int32_t> codes = boosted_.copies()[m].codes(ctx, kClassifier, X);
    const double vote = boosted_.weights()[m], against = -vote / static_cast<double>(k - 1);
    for (std::size_t i = 0; i < n; ++i) {
      const auto own = static_cast<std::size_t>(present_.positions[static_cast<std::size_t>(codes[i])]);
      for (std::size_t c = 0; c < k; ++c) sums[i * k + c] += c == own ? vote : against;
    }
  }
  const double scale = for_shares && k > 2 ? 1 / (total * static_cast<double>(k - 1)) : 1 / total;
  for (double& sum : sums) sum *= scale;
  return Matrix<double>(ctx.memory(), X.n_rows(), present_.size(), sums);
}

template <class T>
void AdaBoostClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<double> own = scores(ctx, X, true);
  spread_scores(ctx, present_, own.view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
void AdaBoostClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                              MatrixView<double> decision) const {
  const Matrix<double> own = scores(ctx, X, false);
  spread_decision(ctx, present_, own.view(), decision);
}

template <class T>
std::vector<std::int32_t> AdaBoostClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const Matrix<double> own = scores(ctx, X, false);
  return best_codes(ctx, present_, own.view());
}

template <class T>
schema::ValueMap AdaBoostClassifier<T>::attributes() const {
  schema::ValueMap map = boosted_.attributes();
  map.emplace_back("classes_", present_.names_value());
  map.emplace_back("n_classes_", std::int64_t{present_.size()});
  return map;
}

template <class T>
void AdaBoostClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  boosted_.state(archive);
}

template <class T>
AdaBoostRegressor<T>::AdaBoostRegressor(const schema::ValueMap& params)
    : boosted_(kRegressor, regressor_params().parse(params), NestedPredictor<T>::Kind::kRegressor,
               "DecisionTreeRegressor", 3) {}

template <class T>
schema::EstimatorInfo AdaBoostRegressor<T>::info() {
  return info_of(kRegressor, "regressor",
                 "Fit copies of a regressor, each on rows drawn by how far those before it missed them.",
                 regressor_params().infos());
}

template <class T>
void AdaBoostRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRegressor, X);
  const AdaBoostParams& params = boosted_.params();
  boosted_.run(ctx, y, X.n_rows(),
               [&](NestedPredictor<T>& copy, std::vector<double>& rows, std::size_t i, LegacyRandom& random) {
                 const CumulatedWeights drawn_by(rows);
                 std::vector<std::int32_t> drawn(rows.size());
                 for (std::int32_t& row : drawn) row = static_cast<std::int32_t>(drawn_by.at(random.uniform()));
                 Target own = rows_at(y, drawn);
                 own.weights.clear();
                 copy.fit(ctx, kRegressor, rows_at(ctx, X, drawn), own);
                 std::vector<double> misses = copy.values(ctx, kRegressor, X);
                 double most = 0, error = 0;
                 for (std::size_t r = 0; r < rows.size(); ++r) {
                   misses[r] = std::abs(misses[r] - y.values[r]);
                   if (rows[r] > 0) most = std::max(most, misses[r]);
                 }
                 for (std::size_t r = 0; r < rows.size(); ++r) {
                   double& miss = misses[r];
                   if (most != 0) miss /= most;
                   if (params.loss == "square") miss *= miss;
                   if (params.loss == "exponential") miss = 1 - std::exp(-miss);
                   if (rows[r] > 0) error += rows[r] * miss;
                 }
                 typename BoostedCopies<T>::Step step{.error = error};
                 if (error <= 0) {
                   step.error = 0;
                   return step;
                 }
                 if (error >= 0.5) {   // one that is alone is kept, with a weight of 0
                   step.is_kept = i == 0, step.is_last = true;
                   return step;
                 }
                 const double beta = error / (1 - error);
                 step.weight = params.learning_rate * std::log(1 / beta);
                 for (std::size_t r = 0; i + 1 < static_cast<std::size_t>(params.n_estimators) && r < rows.size(); ++r)
                   if (rows[r] > 0) rows[r] *= std::pow(beta, (1 - misses[r]) * params.learning_rate);
                 return step;
               });
}

template <class T>
std::vector<double> AdaBoostRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double>& weights = boosted_.weights();
  const auto n = static_cast<std::size_t>(X.n_rows()), k = boosted_.copies().size();
  std::vector<std::vector<double>> said;
  for (const NestedPredictor<T>& copy : boosted_.copies()) said.push_back(copy.values(ctx, kRegressor, X));
  std::vector<double> medians(n);
  std::vector<std::size_t> order(k);
  std::vector<double> sums(k);
  for (std::size_t i = 0; i < n; ++i) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t m) { return said[m][i]; });
    double sum = 0;
    for (std::size_t m = 0; m < k; ++m) sums[m] = sum += weights[order[m]];
    const auto middle = std::ranges::find_if(sums, [&](double so_far) { return so_far >= 0.5 * sum; }) - sums.begin();
    medians[i] = said[order[static_cast<std::size_t>(middle)]][i];
  }
  return medians;
}

template class BoostedCopies<float>;
template class BoostedCopies<double>;
template class AdaBoostClassifier<float>;
template class AdaBoostClassifier<double>;
template class AdaBoostRegressor<float>;
template class AdaBoostRegressor<double>;

}   // namespace kedge::engine
