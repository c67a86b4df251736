// Makes, fits and asks predictors inside other estimators.
#include "engine/estimators/meta/nested_predictor.h"

#include <algorithm>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/dealt_sums.h"
#include "engine/estimators/magnitudes.h"

namespace kedge::engine {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

std::vector<schema::ParamForm> predictor_forms() {
  return {step_form(), array_form({step_form()})};
}

template <class T>
NestedPredictor<T>::NestedPredictor(const Value& value, const std::string& path, Kind kind)
    : value_(value), path_(path), kind_(kind) {
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (list && list->empty()) throw Error(ErrorCode::kInvalidValue, "the list of steps is empty", path);
  const std::string last_path = list ? fmt::format("{}[{}]", path, list->size() - 1) : path;
  if (list && list->size() > 1)
    before_.emplace(Value(schema::ValueList(list->begin(), list->end() - 1)), path, RowsOfFit::kMayChange);
  last_step_ = step_of(list ? list->back() : value, last_path);
  last_ = make_nested<T>(last_step_, last_path);
  classifier_ = dynamic_cast<const Classifier<T>*>(last_.get());
  regressor_ = dynamic_cast<const Regressor<T>*>(last_.get());
  if (const schema::Step* const resampler = before_ ? before_->resampler() : nullptr; resampler && !classifier_)
    throw Error(
        ErrorCode::kInvalidValue,
        fmt::format("{} changes the rows of a fit, so the last step must be a classifier; {} is a {}",
                    resampler->estimator, last_step_.estimator, find_estimator(last_step_.estimator)->info.kind),
        path);
  const bool may_classify = kind != Kind::kRegressor, may_regress = kind != Kind::kClassifier;
  if ((may_classify && classifier_) || (may_regress && regressor_)) return;
  const char* wanted = kind == Kind::kClassifier  ? "a classifier"
                       : kind == Kind::kRegressor ? "a regressor"
                                                  : "a classifier or a regressor";
  const bool fits_several = dynamic_cast<const MultiOutput<T>*>(last_.get()) != nullptr;
  throw Error(
      ErrorCode::kInvalidValue,
      fmt::format("{} is a {}{}, must be {}", last_step_.estimator, find_estimator(last_step_.estimator)->info.kind,
                  fits_several ? " of several targets" : "", wanted),
      last_path);
}

template <class T>
bool NestedPredictor<T>::has_attribute(std::string_view name) const {
  return find_value(last_->attributes(), name) != nullptr;
}

template <class T>
void NestedPredictor<T>::fit(const Context& ctx, const std::string& owner, const Samples<T>& X, const Target& y) {
  with_owner(owner, [&] {
    Context inner = ctx;
    inner.work = nullptr;   // what candidates share is announced for the steps of the pipeline alone
    Samples<T> current = X;
    current.content.clear();
    n_features_ = X.n_cols();
    FitTarget target(y);
    if (before_) current = before_->fit_transform(inner, owner, current, target);
    inner.check_stop();
    current = accepted(inner, last_step_.estimator, *last_, current);
    require_magnitudes(inner, last_step_.estimator, *last_, current, target.weighted());
    last_width_ = current.n_cols();
    if (last_->reads_bins()) binned_table(inner, *current.table);
    const CatalogueEntry& entry = *find_estimator(last_step_.estimator);
    const DealtSumsScope sums(inner.device, deals_row_sums(entry, inner.device));   // of a fit that all ranks make
    last_->fit(inner, current, target.weighted());
  });
}

template <class T>
Samples<T> NestedPredictor<T>::readable(const Context& ctx, const std::string& owner, const Samples<T>& X) const {
  require_fitted_columns(owner.c_str(), X, static_cast<std::size_t>(n_features_));
  Samples<T> current = X;
  current.content.clear();
  if (before_) current = before_->transform(ctx, owner, current);
  ctx.check_stop();
  return accepted(ctx, last_step_.estimator, *last_, current);
}

template <class T>
std::vector<double> NestedPredictor<T>::proba(const Context& ctx, const std::string& owner, const Samples<T>& X) const {
  return with_owner(owner, [&] {
    const Samples<T> read = readable(ctx, owner, X);
    Matrix<double> out(ctx.memory(), X.n_rows(), classifier_->n_classes());
    classifier_->predict_proba(ctx, read, out.view());
    return out.to_host();
  });
}

template <class T>
std::vector<double> NestedPredictor<T>::decision(const Context& ctx, const std::string& owner,
                                                 const Samples<T>& X) const {
  return with_owner(owner, [&] {
    const Samples<T> read = readable(ctx, owner, X);
    const std::int32_t n_classes = classifier_->n_classes();
    Matrix<double> out(ctx.memory(), X.n_rows(), n_classes == 2 ? 1 : n_classes);
    classifier_->decision_function(ctx, read, out.view());
    return out.to_host();
  });
}

template <class T>
std::vector<std::int32_t> NestedPredictor<T>::codes(const Context& ctx, const std::string& owner,
                                                    const Samples<T>& X) const {
  return with_owner(owner, [&] { return classifier_->predict(ctx, readable(ctx, owner, X)); });
}

template <class T>
std::vector<double> NestedPredictor<T>::values(const Context& ctx, const std::string& owner,
                                               const Samples<T>& X) const {
  return with_owner(owner, [&] { return regressor_->predict(ctx, readable(ctx, owner, X)); });
}

template <class T>
Value NestedPredictor<T>::attributes() const {
  if (!before_) return last_attributes();
  std::vector<schema::Step> steps;
  const auto& list = std::get<schema::ValueList>(value_.data);
  schema::ValueMap map;
  const Value before = before_->attributes();
  if (const auto* named = std::get_if<schema::ValueMap>(&before.data)) map = *named;
  for (const Value& step : list)
    if (step != Value("passthrough")) steps.push_back(step_of(step, path_));
  map.emplace_back(step_names(steps).back(), last_attributes());
  return map;
}

template <class T>
void NestedPredictor<T>::state(StateArchive& archive) {
  archive.number("n_features", n_features_, archive.n_features(), archive.n_features());
  if (before_) before_->state(archive);
  archive.number("width", last_width_, 1, kMaxSize);
  archive.expect(before_ || last_width_ == n_features_, "width", "is not that of the features");
  const StateArchive::Scope scope(archive, last_step_.estimator, last_width_);
  last_->state(archive);
  archive.expect(!classifier_ || classifier_->n_classes() == archive.n_classes(), "classes",
                 "has another size than the target's");
}

template <class T>
PlannedFit NestedPredictor<T>::planned(std::int64_t n_rows, std::int64_t n_cols) const {
  const CatalogueEntry& last = *find_estimator(last_step_.estimator);
  return {.cost = cost_of_fit(value_, n_rows, n_cols),
          .divides = last.dealt == DealtFit::kTrees || last.dealt == DealtFit::kFits,
          .is_large = last.info.family == "neighbors"};
}

// As a model that no file has.
template <class T>
void NestedPredictor<T>::write(const Context& ctx, ByteWriter& out) {
  const std::int32_t n_classes = classifier_ ? classifier_->n_classes() : 0;
  ModelFileWriter writer({}, std::numeric_limits<std::size_t>::max());
  StateArchive archive(ctx, writer, n_classes);
  const StateArchive::Scope scope(archive, last_step_.estimator, n_features_);
  state(archive);
  out.number(n_features_);
  out.number(n_classes);
  out.text(writer.finish({}));
}

template <class T>
void NestedPredictor<T>::read(const Context& ctx, ByteReader& in) {
  struct alignas(kModelAlignment) Block {
    std::byte bytes[kModelAlignment];
  };
  const auto n_features = in.number<std::int64_t>();
  const auto n_classes = in.number<std::int32_t>();
  const std::string held = in.text();
  std::vector<Block> blocks(held.size() / kModelAlignment);
  std::copy(held.begin(), held.end(), reinterpret_cast<char*>(blocks.data()));
  const ModelFile file(std::as_bytes(std::span(blocks)));
  *this = again();
  StateArchive archive(ctx, file, n_classes);
  const StateArchive::Scope scope(archive, last_step_.estimator, n_features);
  state(archive);
  archive.finish();
}

schema::ParamForm named_predictors_form() {
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(string_form({"drop"}));
  return array_form({object_form({{"name", "Its name: unique, without \"__\".", nullptr, {string_form()}},
                                  {"estimator", "A step, a list of steps that run one after the other, or \"drop\".",
                                   nullptr, std::move(forms)}}),
                     array_form({string_form(), object_form(), array_form({object_form()})})});
}

std::vector<std::string> predictor_names(std::string_view owner, const Value& list) {
  std::vector<std::string> names;
  for (const NamedValue& one : named_values(owner, "estimators", "estimator", list)) names.push_back(one.name);
  return names;
}

template <class T>
std::vector<NamedPredictor<T>> named_predictors(std::string_view owner, const Value& list,
                                                typename NestedPredictor<T>::Kind kind) {
  std::vector<NamedPredictor<T>> predictors;
  for (const NamedValue& one : named_values(owner, "estimators", "estimator", list))
    if (!is_dropped(one.value))
      predictors.push_back(
          {one.name, fmt::format("{}: '{}'", owner, one.name), NestedPredictor<T>(one.value, one.path, kind)});
  return predictors;
}

template <class T>
Value attributes_by_name(const std::vector<NamedPredictor<T>>& predictors) {
  schema::ValueMap map;
  for (const NamedPredictor<T>& one : predictors) map.emplace_back(one.name, one.predictor.attributes());
  return map;
}

template <class T>
void state_of(StateArchive& archive, std::vector<NamedPredictor<T>>& predictors) {
  for (NamedPredictor<T>& one : predictors) {
    const StateArchive::Scope scope(archive, one.name, archive.n_features());
    one.predictor.state(archive);
  }
}

template class NestedPredictor<float>;
template class NestedPredictor<double>;
template std::vector<NamedPredictor<float>> named_predictors(std::string_view, const Value&,
                                                             NestedPredictor<float>::Kind);
template std::vector<NamedPredictor<double>> named_predictors(std::string_view, const Value&,
                                                              NestedPredictor<double>::Kind);
template Value attributes_by_name(const std::vector<NamedPredictor<float>>&);
template Value attributes_by_name(const std::vector<NamedPredictor<double>>&);
template void state_of(StateArchive&, std::vector<NamedPredictor<float>>&);
template void state_of(StateArchive&, std::vector<NamedPredictor<double>>&);

}   // namespace kedge::engine
