// Fits, asks and keeps a predictor for each target column.
#include "engine/estimators/meta/multi_output.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kClassifier = "MultiOutputClassifier";
constexpr const char* kRegressor = "MultiOutputRegressor";
constexpr const char* kClassifierOf = "LogisticRegression";   // where none is given
constexpr const char* kRegressorOf = "LinearRegression";

ParamSet<MultiOutputParams> make_params(const char* owner, const char* otherwise) {
  using P = MultiOutputParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return ParamSet<P>(owner)
      .any("estimator", &P::estimator, std::move(forms),
           fmt::format("A copy of it is fitted to each target column; null takes {}.", otherwise))
      .ignore("n_jobs", nullptr, {integer_form(), null_form()});
}

const ParamSet<MultiOutputParams>& classifier_params() {
  static const ParamSet<MultiOutputParams> set = make_params(kClassifier, kClassifierOf);
  return set;
}

const ParamSet<MultiOutputParams>& regressor_params() {
  static const ParamSet<MultiOutputParams> set = make_params(kRegressor, kRegressorOf);
  return set;
}

Value or_default(const Value& estimator, const char* otherwise) {
  return estimator.is_null() ? Value(schema::ValueMap{{"estimator", otherwise}}) : estimator;
}

}   // namespace

template <class T>
void MultiOutputPredictor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_, X);
  require(!y.outputs.empty(), schema::ErrorCode::kBadData, "{}: there are no target columns, it needs at least one",
          name_);
  members_.clear();
  for (const TargetOutput& output : y.outputs)
    members_.push_back({like_.is_classifier() ? output.classes : std::vector<std::string>(), like_.again()});
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return members_[i].predictor; });
  fits.things = "targets";
  fits.planned.assign(members_.size(), like_.planned(X.n_rows(), X.n_cols()));
  fits.fit = [&](const Context& inner, std::size_t i) {
    const TargetOutput& output = y.outputs[i];
    const Target own{.codes = output.codes, .classes = output.classes, .values = output.values, .weights = y.weights};
    members_[i].predictor.fit(inner, fmt::format("{}: target '{}'", name_, output.name), X, own);
  };
  deal_fits(ctx, fits);
}

template <class T>
std::vector<std::int32_t> MultiOutputPredictor<T>::class_counts() const {
  std::vector<std::int32_t> counts;
  for (const Member& member : members_) counts.push_back(static_cast<std::int32_t>(member.classes.size()));
  return counts;
}

template <class T>
std::vector<std::vector<double>> MultiOutputPredictor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::vector<double>> all;
  for (const Member& member : members_) {
    if (!member.predictor.is_classifier()) {
      all.push_back(member.predictor.values(ctx, name_, X));
      continue;
    }
    const std::vector<std::int32_t> codes = member.predictor.codes(ctx, name_, X);
    all.emplace_back(codes.begin(), codes.end());
  }
  return all;
}

template <class T>
std::vector<std::vector<double>> MultiOutputPredictor<T>::predict_proba(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::vector<double>> all;
  for (const Member& member : members_) all.push_back(member.predictor.proba(ctx, name_, X));
  return all;
}

template <class T>
schema::ValueMap MultiOutputPredictor<T>::attributes() const {
  schema::ValueList estimators, classes;
  for (const Member& member : members_) {
    estimators.push_back(member.predictor.attributes());
    classes.emplace_back(schema::ValueList(member.classes.begin(), member.classes.end()));
  }
  schema::ValueMap map{{"estimators_", std::move(estimators)}};
  if (like_.is_classifier()) map.emplace_back("classes_", std::move(classes));
  return map;
}

template <class T>
void MultiOutputPredictor<T>::state(StateArchive& archive) {
  const std::size_t count = archive.count("members", members_.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (archive.is_loading()) members_.push_back({{}, like_.again()});
    Member& member = members_[i];
    archive.field("classes", member.classes);
    archive.expect(member.classes.empty() != like_.is_classifier(), "classes", "do not fit the estimator");
    archive.expect(member.classes.size() <= static_cast<std::size_t>(kMaxSize), "classes", "are too many");
    const StateArchive::Scope scope(archive, "target", archive.n_features(),
                                    static_cast<std::int32_t>(member.classes.size()));
    member.predictor.state(archive);
  }
}

template <class T>
MultiOutputClassifier<T>::MultiOutputClassifier(const schema::ValueMap& params)
    : MultiOutputPredictor<T>(kClassifier, or_default(classifier_params().parse(params).estimator, kClassifierOf),
                              NestedPredictor<T>::Kind::kClassifier) {}

template <class T>
schema::EstimatorInfo MultiOutputClassifier<T>::info() {
  return {.name = kClassifier,
          .kind = "classifier",
          .family = "multioutput",
          .doc = "Fit a copy of a classifier to each of several target columns.",
          .params = classifier_params().infos(),
          .attributes = {"classes_", "estimators_"},
          .deviations = {"The target columns are those of select.targets."}};
}

template <class T>
MultiOutputRegressor<T>::MultiOutputRegressor(const schema::ValueMap& params)
    : MultiOutputPredictor<T>(kRegressor, or_default(regressor_params().parse(params).estimator, kRegressorOf),
                              NestedPredictor<T>::Kind::kRegressor) {}

template <class T>
schema::EstimatorInfo MultiOutputRegressor<T>::info() {
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "multioutput",
          .doc = "Fit a copy of a regressor to each of several target columns.",
          .params = regressor_params().infos(),
          .attributes = {"estimators_"},
          .deviations = {"The target columns are those of select.targets."}};
}

template class MultiOutputClassifier<float>;
template class MultiOutputClassifier<double>;
template class MultiOutputRegressor<float>;
template class MultiOutputRegressor<double>;

}   // namespace kedge::engine
