// Draws rows and columns, fits a copy of the estimator on each draw, and adds up what the copies say.
#include "engine/estimators/meta/bagging.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/meta/seeded_steps.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kClassifier = "BaggingClassifier";
constexpr const char* kRegressor = "BaggingRegressor";

ParamSet<BaggingParams> make_params(const char* owner, const char* estimator_doc) {
  using P = BaggingParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return ParamSet<P>(owner)
      .any("estimator", &P::estimator, std::move(forms), estimator_doc)
      .add("n_estimators", &P::n_estimators, at_least(1), "How many copies of the estimator are fitted.")
      .any("max_samples", &P::max_samples, {integer_form(at_least(1)), number_form(above(0)), null_form()},
           "Rows that each is fitted on: a number, or a share of all; null takes as many as there are.")
      .any("max_features", &P::max_features, {integer_form(at_least(1)), number_form(above_up_to(0, 1))},
           "Columns that each is fitted on: a number, or a share of all.")
      .add("bootstrap", &P::bootstrap, "Draw rows with replacement.")
      .add("bootstrap_features", &P::bootstrap_features, "Draw columns with replacement.")
      .add("oob_score", &P::oob_score, "Score each row by the estimators that were not fitted on it.")
      .ignore("warm_start", false, {boolean_form()})
      .ignore("n_jobs", nullptr, {integer_form(), null_form()})
      .random_state(&P::random_state)
      .ignore("verbose", 0, {integer_form(at_least(0))});
}

const ParamSet<BaggingParams>& classifier_params() {
  static const ParamSet<BaggingParams> set =
      make_params(kClassifier, "What is copied; null takes DecisionTreeClassifier.");
  return set;
}

const ParamSet<BaggingParams>& regressor_params() {
  static const ParamSet<BaggingParams> set =
      make_params(kRegressor, "What is copied; null takes DecisionTreeRegressor.");
  return set;
}

// scikit-learn's sample_without_replacement(n, count).
std::vector<std::int64_t> drawn_once(LegacyRandom& random, std::int64_t n, std::int64_t count) {
  const double share = static_cast<double>(count) / static_cast<double>(n);
  std::vector<std::int64_t> drawn;
  if (share > 0.01 && share < 0.99) {
    drawn = random.permutation(n);
    drawn.resize(static_cast<std::size_t>(count));
  } else if (share < 0.2) {
    std::set<std::int64_t> seen;
    while (static_cast<std::int64_t>(drawn.size()) < count) {
      const auto one = static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n - 1)));
      if (seen.insert(one).second) drawn.push_back(one);
    }
  } else {   // a reservoir
    drawn.resize(static_cast<std::size_t>(count));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
    for (std::int64_t i = count; i < n; ++i) {
      const auto j = static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(i)));
      if (j < count) drawn[static_cast<std::size_t>(j)] = i;
    }
  }
  return drawn;
}

std::vector<std::int64_t> drawn_indices(LegacyRandom& random, bool with_replacement, std::int64_t n,
                                        std::int64_t count) {
  if (!with_replacement) return drawn_once(random, n, count);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  for (std::int64_t& one : drawn)
    one = n > 1 ? static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n - 1))) : 0;
  return drawn;
}

// A number, or a share of n; n where it is null.
std::int64_t count_of(const Value& value, std::int64_t n) {
  if (value.is_null()) return n;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return *whole;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::get<double>(value.data) * static_cast<double>(n)));
}

schema::EstimatorInfo info_of(const char* name, const char* kind, const char* doc,
                              std::vector<schema::ParamInfo> params, const char* oob) {
  return {.name = name,
          .kind = kind,
          .family = "ensemble",
          .doc = doc,
          .params = std::move(params),
          .attributes = {"estimators_", "estimators_features_", "oob_score_", oob},
          .deviations = {"Sample weights are refused."}};
}

}   // namespace

template <class T>
Bag<T>::Bag(const char* owner, BaggingParams params, Kind kind, const char* default_estimator)
    : owner_(owner),
      params_(std::move(params)),
      kind_(kind),
      estimator_(params_.estimator.is_null() ? Value(schema::ValueMap{{"estimator", default_estimator}})
                                             : params_.estimator) {
  if (params_.oob_score && !params_.bootstrap) refuse_param(owner, "oob_score", true, "needs bootstrap");
  NestedPredictor<T>(estimator_, "params.estimator", kind);   // says what is wrong with it
}

template <class T>
typename Bag<T>::Drawn Bag<T>::draw(std::uint32_t seed, std::int64_t n_rows, std::int64_t n_cols) const {
  const std::int64_t rows = count_of(params_.max_samples, n_rows), columns = count_of(params_.max_features, n_cols);
  require(params_.bootstrap || rows <= n_rows, schema::ErrorCode::kBadData,
          "{}: max_samples is {}, but there are only {} rows to draw from without replacement", owner_, rows, n_rows);
  require(columns <= n_cols, schema::ErrorCode::kBadData, "{}: max_features is {}, but there are only {} columns",
          owner_, columns, n_cols);
  LegacyRandom random(seed);
  Drawn drawn;
  drawn.columns = drawn_indices(random, params_.bootstrap_features, n_cols, columns);
  drawn.rows = drawn_indices(random, params_.bootstrap, n_rows, rows);
  return drawn;
}

// A copy whose random states, those of its steps included, follow from the seed as in scikit-learn.
template <class T>
NestedPredictor<T> Bag<T>::seeded(std::uint32_t seed) const {
  LegacyRandom random(seed);
  return NestedPredictor<T>(with_random_states(estimator_, random), "params.estimator", kind_);
}

// Columns are copied for the moment: what column_part() keeps with the table would be a copy for each estimator.
template <class T>
Samples<T> Bag<T>::columns_of(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& columns) const {
  if (columns.empty()) return X;
  const std::size_t kept = X.table->parts.size();
  Samples<T> part = column_part(ctx, X, std::vector<std::int64_t>(columns.begin(), columns.end()));
  X.table->parts.resize(kept);
  return part;
}

template <class T>
void Bag<T>::fit_member(const Context& ctx, Member& member, const Samples<T>& X, const Target& y,
                        const Drawn& drawn) const {
  const Samples<T> columns = columns_of(ctx, X, member.columns);
  const bool has_steps =
      std::holds_alternative<schema::ValueList>(estimator_.data);   // all are fitted on what is drawn
  if (has_steps || !member.predictor.takes_weights()) {
    const std::vector<std::int32_t> rows(drawn.rows.begin(), drawn.rows.end());
    return member.predictor.fit(ctx, owner_, rows_at(ctx, columns, rows), rows_at(y, rows));
  }
  Target weighted = y;
  weighted.weights.assign(static_cast<std::size_t>(X.n_rows()), 0.0);
  for (const std::int64_t row : drawn.rows) weighted.weights[static_cast<std::size_t>(row)] += 1;
  member.predictor.fit(ctx, owner_, columns, weighted);
}

// What a member says of X: rows x width(), probabilities, votes or values.
template <class T>
std::vector<double> Bag<T>::answers(const Context& ctx, const Member& member, const Samples<T>& X) const {
  const Samples<T> columns = columns_of(ctx, X, member.columns);
  if (n_classes_ == 0) return member.predictor.values(ctx, owner_, columns);
  if (member.predictor.has_proba()) return member.predictor.proba(ctx, owner_, columns);
  const std::vector<std::int32_t> codes = member.predictor.codes(ctx, owner_, columns);
  std::vector<double> votes(codes.size() * width());
  for (std::size_t i = 0; i < codes.size(); ++i) votes[i * width() + static_cast<std::size_t>(codes[i])] = 1;
  return votes;
}

template <class T>
typename Bag<T>::OutOfBag Bag<T>::out_of_bag(const Context& ctx, const Member& member, const Samples<T>& X,
                                             const Drawn& drawn) const {
  std::vector<char> in_bag(static_cast<std::size_t>(X.n_rows()));
  for (const std::int64_t row : drawn.rows) in_bag[static_cast<std::size_t>(row)] = 1;
  OutOfBag outside;
  for (std::size_t i = 0; i < in_bag.size(); ++i)
    if (!in_bag[i]) outside.rows.push_back(static_cast<std::int32_t>(i));
  if (!outside.rows.empty()) outside.answers = answers(ctx, member, rows_at(ctx, X, outside.rows));
  return outside;
}

template <class T>
void Bag<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(owner_, X);
  n_classes_ = kind_ == Kind::kClassifier ? y.n_classes() : 0;
  LegacyRandom random(
      static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed & 0xffffffffU))));
  const std::int64_t n_rows = X.n_rows(), n_cols = X.n_cols();
  std::vector<std::uint32_t> seeds(static_cast<std::size_t>(params_.n_estimators));
  for (std::uint32_t& seed : seeds) seed = static_cast<std::uint32_t>(random.interval(kLargestStepSeed));
  members_.clear();
  for (const std::uint32_t seed : seeds) members_.push_back({seeded(seed)});
  std::vector<OutOfBag> outside(members_.size());
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return members_[i].predictor; });
  for (const Member& member : members_) fits.planned.push_back(planned(member, X));
  fits.fit = [&](const Context& inner, std::size_t i) {
    const Drawn drawn = draw(seeds[i], n_rows, n_cols);
    Member& member = members_[i];
    if (params_.bootstrap_features || std::ssize(drawn.columns) != n_cols)
      member.columns.assign(drawn.columns.begin(), drawn.columns.end());
    Context of_member = inner;
    of_member.seed = seeds[i];
    fit_member(of_member, member, X, y, drawn);
    if (params_.oob_score) outside[i] = out_of_bag(of_member, member, X, drawn);
  };
  fits.write = [&, write = fits.write](std::size_t i, ByteWriter& out) {
    write(i, out);
    out.numbers(members_[i].columns), out.numbers(outside[i].rows), out.numbers(outside[i].answers);
  };
  fits.read = [&, read = fits.read](std::size_t i, ByteReader& in) {
    read(i, in);
    members_[i].columns = in.numbers<std::int32_t>();
    outside[i].rows = in.numbers<std::int32_t>(), outside[i].answers = in.numbers<double>();
  };
  std::vector<double> oob_sums(params_.oob_score ? static_cast<std::size_t>(n_rows) * width() : 0);
  std::vector<std::int64_t> oob_counts(params_.oob_score ? static_cast<std::size_t>(n_rows) : 0);
  fits.done = [&](std::size_t i) {
    const OutOfBag said = std::exchange(outside[i], {});
    for (std::size_t k = 0; k < said.rows.size(); ++k) {
      const auto row = static_cast<std::size_t>(said.rows[k]);
      ++oob_counts[row];
      for (std::size_t c = 0; c < width(); ++c) oob_sums[row * width() + c] += said.answers[k * width() + c];
    }
  };
  deal_fits(ctx, fits);
  if (params_.oob_score) set_oob(ctx, y, oob_sums, oob_counts);
}

// With out-of-bag answers the work is more than to keep rows.
template <class T>
PlannedFit Bag<T>::planned(const Member& member, const Samples<T>& X) const {
  PlannedFit one = member.predictor.planned(X.n_rows(), X.n_cols());
  one.is_large = one.is_large && !params_.oob_score;
  return one;
}

template <class T>
void Bag<T>::set_oob(const Context& ctx, const Target& y, const std::vector<double>& sums,
                     const std::vector<std::int64_t>& counts) {
  if (std::ranges::count(counts, 0) > 0)
    ctx.warn(fmt::format("{}: some rows are in every draw and have no out-of-bag answer; more estimators would help",
                         owner_));
  oob_answers_ = sums;
  double right = 0, squares = 0, mean = 0;
  for (const double value : y.values) mean += value / static_cast<double>(y.values.size());
  double spread = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto row = sums.begin() + static_cast<std::ptrdiff_t>(i * width());
    if (n_classes_ > 0) {
      right += std::max_element(row, row + n_classes_) - row == y.codes[i];
      const double total = std::accumulate(row, row + n_classes_, 0.0);
      for (std::size_t c = 0; c < width(); ++c)
        oob_answers_[i * width() + c] =
            total > 0 ? row[static_cast<std::ptrdiff_t>(c)] / total : std::numeric_limits<double>::quiet_NaN();
    } else {
      oob_answers_[i] = sums[i] / static_cast<double>(std::max<std::int64_t>(1, counts[i]));
      squares += (y.values[i] - oob_answers_[i]) * (y.values[i] - oob_answers_[i]);
      spread += (y.values[i] - mean) * (y.values[i] - mean);
    }
  }
  oob_score_ = n_classes_ > 0 ? right / static_cast<double>(counts.size())
               : spread > 0   ? 1 - squares / spread
               : squares > 0  ? 0
                              : 1;
}

template <class T>
std::vector<double> Bag<T>::sums(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> all(static_cast<std::size_t>(X.n_rows()) * width());
  for (const Member& member : members_) {
    const std::vector<double> said = answers(ctx, member, X);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += said[i];
  }
  return all;
}

template <class T>
schema::ValueMap Bag<T>::attributes() const {
  schema::ValueList estimators, features;
  for (const Member& member : members_) {
    estimators.push_back(member.predictor.attributes());
    std::vector<double> columns(member.columns.begin(), member.columns.end());
    if (columns.empty()) {
      columns.resize(static_cast<std::size_t>(member.predictor.n_features()));
      std::iota(columns.begin(), columns.end(), 0.0);
    }
    features.emplace_back(std::move(columns));
  }
  schema::ValueMap map{{"estimators_", std::move(estimators)}, {"estimators_features_", std::move(features)}};
  if (!params_.oob_score) return map;
  map.emplace_back("oob_score_", oob_score_);
  if (n_classes_ > 0) map.emplace_back("oob_decision_function_", rows_value(oob_answers_, n_classes_));
  else map.emplace_back("oob_prediction_", oob_answers_);
  return map;
}

template <class T>
void Bag<T>::state(StateArchive& archive) {
  if (archive.is_loading()) {
    n_classes_ = kind_ == Kind::kClassifier ? archive.n_classes() : 0;
    members_.clear();
    for (std::int64_t i = 0; i < params_.n_estimators; ++i)
      members_.push_back({NestedPredictor<T>(estimator_, "params.estimator", kind_)});
  }
  const std::int64_t d = archive.n_features();
  for (Member& member : members_) {
    archive.indices("columns", member.columns, kAnySize, 0, d - 1);
    const StateArchive::Scope scope(archive, owner_,
                                    member.columns.empty() ? d : static_cast<std::int64_t>(member.columns.size()));
    member.predictor.state(archive);
  }
  archive.field("oob_score", oob_score_);
  archive.field("oob_answers", oob_answers_, kAnySize);
}

template <class T>
BaggingClassifier<T>::BaggingClassifier(const schema::ValueMap& params)
    : bag_(kClassifier, classifier_params().parse(params), NestedPredictor<T>::Kind::kClassifier,
           "DecisionTreeClassifier") {}

template <class T>
schema::EstimatorInfo BaggingClassifier<T>::info() {
  schema::EstimatorInfo info = info_of(
      kClassifier, "classifier", "Fit copies of a classifier on rows and columns drawn at random, and average them.",
      classifier_params().infos(), "oob_decision_function_");
  info.attributes.insert(info.attributes.begin(), {"classes_", "n_classes_"});
  return info;
}

template <class T>
void BaggingClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  bag_.fit(ctx, X, y);
  classes_ = y.classes;
}

template <class T>
void BaggingClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  std::vector<double> means = bag_.sums(ctx, X);
  for (double& mean : means) mean /= static_cast<double>(bag_.n_estimators());
  if (!means.empty()) ctx.memory().to_device(proba.data, means.data(), means.size() * sizeof(double));
}

template <class T>
schema::ValueMap BaggingClassifier<T>::attributes() const {
  schema::ValueMap map{{"classes_", schema::ValueList(classes_.begin(), classes_.end())},
                       {"n_classes_", std::int64_t{n_classes()}}};
  for (auto& attribute : bag_.attributes()) map.push_back(std::move(attribute));
  return map;
}

template <class T>
void BaggingClassifier<T>::state(StateArchive& archive) {
  archive.field("classes", classes_, archive.n_classes());
  bag_.state(archive);
}

template <class T>
BaggingRegressor<T>::BaggingRegressor(const schema::ValueMap& params)
    : bag_(kRegressor, regressor_params().parse(params), NestedPredictor<T>::Kind::kRegressor,
           "DecisionTreeRegressor") {}

template <class T>
schema::EstimatorInfo BaggingRegressor<T>::info() {
  return info_of(kRegressor, "regressor",
                 "Fit copies of a regressor on rows and columns drawn at random, and average them.",
                 regressor_params().infos(), "oob_prediction_");
}

template <class T>
std::vector<double> BaggingRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> mean = bag_.sums(ctx, X);
  for (double& value : mean) value /= static_cast<double>(bag_.n_estimators());
  return mean;
}

template class Bag<float>;
template class Bag<double>;
template class BaggingClassifier<float>;
template class BaggingClassifier<double>;
template class BaggingRegressor<float>;
template class BaggingRegressor<double>;

}   // namespace kedge::engine
