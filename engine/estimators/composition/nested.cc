// Makes, fits and runs transformers inside other ones.
#include "engine/estimators/composition/nested.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/core/state_archive.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/fit_transformer.h"
#include "engine/estimators/magnitudes.h"
#include "engine/estimators/text/documents.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

[[noreturn]] void refuse(ErrorCode code, const std::string& where, std::string message) {
  throw Error(code, std::move(message), where);
}

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// What makes columns of its own rather than new values for old ones, so that scikit-learn names them after itself.
bool names_after_itself(const CatalogueEntry& entry) {
  static constexpr std::array kFamilies = {"decomposition", "cluster", "discriminant_analysis", "kernel_approximation"};
  return std::find(kFamilies.begin(), kFamilies.end(), entry.info.family) != kFamilies.end();
}

// Element k of a tuple, or the field of an object.
const Value& part_of(const Value& element, std::size_t k, const char* field, std::size_t n, const std::string& path) {
  if (const auto* tuple = std::get_if<schema::ValueList>(&element.data)) {
    if (tuple->size() != n)
      refuse(ErrorCode::kInvalidValue, path, fmt::format("has {} elements, must have {}", tuple->size(), n));
    return (*tuple)[k];
  }
  const Value* value = find_value(std::get<schema::ValueMap>(element.data), field);
  if (!value) refuse(ErrorCode::kInvalidValue, path, fmt::format("has no \"{}\"", field));
  return *value;
}

void require_fields(const Value& element, const std::vector<std::string_view>& known, const std::string& path) {
  const auto* map = std::get_if<schema::ValueMap>(&element.data);
  if (!map && !std::holds_alternative<schema::ValueList>(element.data)) {
    refuse(ErrorCode::kWrongType, path, fmt::format("is {}, must be an object or a list", schema::to_string(element)));
  }
  for (std::size_t i = 0; map && i < map->size(); ++i) {
    const std::string& name = (*map)[i].first;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view nearest = schema::nearest_name(name, known);
    refuse(ErrorCode::kUnknownParameter, path + "." + name,
           fmt::format("unknown field \"{}\"{}", name, nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
}

}  // namespace

schema::Step step_of(const Value& value, const std::string& path) {
  if (!std::holds_alternative<schema::ValueMap>(value.data)) {
    refuse(ErrorCode::kWrongType, path,
           fmt::format("is {}, must be a step: {{\"estimator\": ..., \"params\": {{...}}}}", schema::to_string(value)));
  }
  require_fields(value, {"estimator", "params", "name"}, path);
  schema::Step step;
  for (const auto& [field, content] : std::get<schema::ValueMap>(value.data)) {
    const bool is_params = field == "params";
    const auto* text = std::get_if<std::string>(&content.data);
    const auto* params = std::get_if<schema::ValueMap>(&content.data);
    if (is_params ? !params : !text) {
      refuse(ErrorCode::kWrongType, path + "." + field,
             fmt::format("{} is {}, must be {}", field, schema::to_string(content), is_params ? "an object" : "a string"));
    }
    if (is_params)
      step.params = *params;
    else
      (field == "name" ? step.name : step.estimator) = *text;
  }
  if (step.estimator.empty()) refuse(ErrorCode::kInvalidValue, path, "the step has no \"estimator\"");
  return step;
}

Value value_of(const schema::Step& step) {
  schema::ValueMap map;
  if (!step.name.empty()) map.emplace_back("name", step.name);
  map.emplace_back("estimator", step.estimator);
  map.emplace_back("params", step.params);
  return map;
}

schema::ParamForm step_form() {
  return object_form({{"estimator", "Its class.", nullptr, {string_form()}},
                      {"params", "Parameters that differ from their defaults.", schema::ValueMap{}, {object_form(), null_form()}},
                      {"name",
                       "Its name in the parameter paths of searches; else its class in lower case.",
                       nullptr,
                       {string_form(), null_form()}}});
}

std::vector<schema::ParamForm> transformer_forms() {
  return {step_form(), array_form({step_form()}), string_form({"passthrough", "drop"})};
}

std::vector<std::string> step_names(std::span<const schema::Step* const> steps) {
  std::vector<std::string> names;
  std::map<std::string, std::int64_t> all, before;   // steps without a name of their own, by class in lower case
  for (const schema::Step* step : steps) {
    names.push_back(step->name.empty() ? lower_case(step->estimator) : step->name);
    if (step->name.empty()) ++all[names.back()];
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string plain = names[i];
    if (steps[i]->name.empty() && all[plain] > 1) names[i] += "-" + std::to_string(++before[plain]);
  }
  return names;
}

std::vector<std::string> step_names(const std::vector<schema::Step>& steps) {
  std::vector<const schema::Step*> pointers;
  for (const schema::Step& step : steps) pointers.push_back(&step);
  return step_names(pointers);
}

template <class T>
std::unique_ptr<Estimator<T>> make_nested(const schema::Step& step, const std::string& path) {
  const CatalogueEntry& entry = known_estimator(step.estimator, path + ".estimator");
  try {
    if constexpr (std::is_same_v<T, float>) return entry.make_f32(step.params);
    else return entry.make_f64(step.params);
  } catch (const Error& error) {
    throw Error(error.code, error.message, error.where.empty() ? path + ".params" : path + "." + error.where);
  }
}

template <class T>
NestedTransformer<T>::NestedTransformer(const Value& value, const std::string& path, RowsOfFit rows)
    : rows_of_fit_(rows) {
  if (const auto* word = std::get_if<std::string>(&value.data)) {
    if (*word != "passthrough" && *word != "drop") {
      refuse(ErrorCode::kInvalidValue, path,
             fmt::format("is \"{}\", must be a step, a list of steps, \"passthrough\" or \"drop\"", *word));
    }
    kind_ = *word == "drop" ? Kind::kDrop : Kind::kPassthrough;
    return;
  }
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (!list) {
    add_step(value, path);
    return;
  }
  is_list_ = true;
  if (list->empty()) refuse(ErrorCode::kInvalidValue, path, "the list of steps is empty");
  for (std::size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i] != Value("passthrough")) add_step((*list)[i], fmt::format("{}[{}]", path, i));
  }
  if (steps_.empty()) kind_ = Kind::kPassthrough;
}

template <class T>
void NestedTransformer<T>::add_step(const Value& value, const std::string& path) {
  steps_.push_back(step_of(value, path));
  estimators_.push_back(make_nested<T>(steps_.back(), path));
  if (rows_of_fit_ == RowsOfFit::kStay && resampler_of(*estimators_.back()))
    refuse(ErrorCode::kInvalidValue, path,
           fmt::format("{} changes the rows of a fit, so it must be a step of a pipeline that ends in a classifier",
                       steps_.back().estimator));
  if (!dynamic_cast<const Transformer<T>*>(estimators_.back().get())) {
    const std::string& name = steps_.back().estimator;
    refuse(ErrorCode::kInvalidValue, path,
           fmt::format("{} is a {}, must be able to transform", name, find_estimator(name)->info.kind));
  }
}

template <class T>
TargetKind NestedTransformer<T>::target_kind() const {
  for (const auto& estimator : estimators_)
    if (estimator->target_kind() != TargetKind::kNone) return estimator->target_kind();
  return TargetKind::kNone;
}

template <class T>
const schema::Step* NestedTransformer<T>::resampler() const {
  for (std::size_t i = 0; i < estimators_.size(); ++i)
    if (resampler_of(*estimators_[i])) return &steps_[i];
  return nullptr;
}

template <class T>
void NestedTransformer<T>::fit(const Context& ctx, const std::string& owner, const Samples<T>& X, const Target& y) {
  with_owner(owner, [&] {
    const std::size_t last = estimators_.empty() ? 0 : estimators_.size() - 1;
    FitTarget target(y);
    fit_steps(ctx, X, target, [&](std::size_t i, const Samples<T>& rows) {
      if (i < last) return fit_transformed(ctx, *estimators_[i], rows, y);
      estimators_[i]->fit(ctx, rows, y);
      return rows;
    });
  });
}

template <class T>
Samples<T> NestedTransformer<T>::fit_transform(const Context& ctx, const std::string& owner, const Samples<T>& X,
                                               const Target& y) {
  return with_owner(owner, [&] {
    FitTarget target(y);
    return fit_steps(ctx, X, target, [&](std::size_t i, const Samples<T>& rows) {
      return fit_transformed(ctx, *estimators_[i], rows, y);
    });
  });
}

template <class T>
Samples<T> NestedTransformer<T>::fit_transform(const Context& ctx, const std::string& owner, const Samples<T>& X,
                                               FitTarget& y) {
  return with_owner(owner, [&] {
    return fit_steps(ctx, X, y, [&](std::size_t i, const Samples<T>& rows) {
      FittedRows<T> made = fitted_rows(ctx, *estimators_[i], rows, y);
      y.become(std::move(made.y));
      return std::move(made.X);
    });
  });
}

template <class T>
template <class FitOne>
Samples<T> NestedTransformer<T>::fit_steps(const Context& ctx, const Samples<T>& X, FitTarget& y, FitOne&& fit_one) {
  Samples<T> current = X;
  widths_.clear();
  for (std::size_t i = 0; i < estimators_.size(); ++i) {
    ctx.check_stop();
    current = accepted(ctx, steps_[i].estimator, *estimators_[i], current);
    require_magnitudes(ctx, steps_[i].estimator, *estimators_[i], current, y.weighted());
    widths_.push_back(current.n_cols());
    if (estimators_[i]->reads_bins()) binned_table(ctx, *current.table);
    current = fit_one(i, current);
  }
  return current;
}

template <class T>
bool NestedTransformer<T>::has_own_fit_transform() const {
  return std::ranges::any_of(estimators_,
                             [](const auto& estimator) { return own_fit_transform(*estimator) != nullptr; });
}

template <class T>
Samples<T> NestedTransformer<T>::transform(const Context& ctx, const std::string& owner, const Samples<T>& X) const {
  return with_owner(owner, [&] {
    Samples<T> current = X;
    for (std::size_t i = 0; i < estimators_.size(); ++i) {
      ctx.check_stop();
      current = accepted(ctx, steps_[i].estimator, *estimators_[i], current);
      current = step(i).transform(ctx, current);
    }
    return current;
  });
}

template <class T>
std::vector<Feature> NestedTransformer<T>::features_out(const Samples<T>& X, const Samples<T>& made) const {
  if (!made.table->features.empty()) return made.table->features;
  if (const auto* names = estimators_.empty() ? nullptr : dynamic_cast<const NamesOutputs*>(estimators_.back().get())) {
    std::vector<Feature> features;
    for (std::string& name : names->output_names()) features.push_back({.name = std::move(name)});
    return features;
  }
  bool keeps_names = made.n_cols() == X.n_cols();
  std::string last;
  for (const schema::Step& step : steps_) {
    if (names_after_itself(*find_estimator(step.estimator))) keeps_names = false;
    last = step.estimator;
  }
  if (keeps_names) return features_of(*X.table);
  std::vector<Feature> features;
  for (std::int64_t j = 0; j < made.n_cols(); ++j) features.push_back({.name = lower_case(last) + std::to_string(j)});
  return features;
}

template <class T>
bool NestedTransformer<T>::reads_texts() const {
  const auto* reader = estimators_.empty() ? nullptr : dynamic_cast<const ReadsTexts*>(estimators_.front().get());
  return reader && !reader->text_columns().empty();
}

template <class T>
void NestedTransformer<T>::state(StateArchive& archive) {
  widths_.resize(estimators_.size());
  for (std::size_t i = 0; i < estimators_.size(); ++i) {
    archive.number("width", widths_[i], 1, kMaxSize);
    const StateArchive::Scope scope(archive, steps_[i].estimator, widths_[i]);
    estimators_[i]->state(archive);
  }
}

template <class T>
Value NestedTransformer<T>::attributes() const {
  if (kind_ != Kind::kSteps) return is_drop() ? "drop" : "passthrough";
  if (!is_list_) return fitted_attributes(*estimators_.front(), widths_.front());
  const std::vector<std::string> names = step_names(steps_);
  schema::ValueMap map;
  for (std::size_t i = 0; i < names.size(); ++i) map.emplace_back(names[i], fitted_attributes(*estimators_[i], widths_[i]));
  return map;
}

std::vector<NamedValue> named_values(std::string_view owner, std::string_view param, const char* field,
                                     const Value& list, bool has_columns) {
  std::vector<NamedValue> result;
  std::set<std::string> seen;
  std::vector<std::string_view> fields{"name", field};
  if (has_columns) fields.push_back("columns");
  const std::size_t n = fields.size();
  const auto& elements = std::get<schema::ValueList>(list.data);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Value& element = elements[i];
    const std::string path = fmt::format("params.{}[{}]", param, i);
    require_fields(element, fields, path);
    const bool is_tuple = std::holds_alternative<schema::ValueList>(element.data);
    const auto path_of = [&](std::size_t k, const char* name) {
      return is_tuple ? fmt::format("{}[{}]", path, k) : path + "." + name;
    };
    const auto* name = std::get_if<std::string>(&part_of(element, 0, "name", n, path).data);
    if (!name)
      refuse(ErrorCode::kWrongType, path_of(0, "name"),
             fmt::format("{}: the name of each {} must be a string", owner, field));
    if (name->empty() || name->find("__") != std::string::npos) {
      refuse(ErrorCode::kInvalidValue, path_of(0, "name"),
             fmt::format("{}: the {} '{}' has a name that is empty or holds '__'", owner, field, *name));
    }
    if (!seen.insert(*name).second)
      refuse(ErrorCode::kInvalidValue, path_of(0, "name"),
             fmt::format("{}: two {}s are named '{}'", owner, field, *name));
    result.push_back({*name, path_of(1, field), part_of(element, 1, field, n, path),
                      has_columns ? part_of(element, 2, "columns", n, path) : Value(), path_of(2, "columns")});
  }
  return result;
}

std::vector<double> transformer_weights(std::string_view owner, const Value& weights, const std::vector<std::string>& names) {
  std::vector<double> result(names.size(), 1.0);
  const auto* map = std::get_if<schema::ValueMap>(&weights.data);
  for (std::size_t i = 0; map && i < map->size(); ++i) {
    const auto& [name, value] = (*map)[i];
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) refuse_param(owner, "transformer_weights", weights, "but no transformer is named '" + name + "'");
    const auto number = numbers_of(schema::ValueList{value});
    if (!number) refuse_param(owner, "transformer_weights", weights, "must have a number for '" + name + "'");
    result[static_cast<std::size_t>(found - names.begin())] = number->front();
  }
  return result;
}

template <class T>
Samples<T> first_row(const Context& ctx, const Samples<T>& X) {
  std::int32_t place = 0;
  if (X.rows) ctx.memory().to_host(&place, X.rows->data(), sizeof place);
  Samples<T> first = X;
  first.content.clear();
  first.rows = std::make_shared<const Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(&place, 1));
  return first;
}

std::string verbose_name(const Value& verbose, const std::string& transformer, const std::string& feature) {
  if (verbose == Value(false)) return feature;
  const auto* format = std::get_if<std::string>(&verbose.data);
  std::string name = format ? *format : "{transformer_name}__{feature_name}";
  const auto put = [&name](std::string_view key, const std::string& text) {
    for (std::size_t at = name.find(key); at != std::string::npos; at = name.find(key, at + text.size()))
      name.replace(at, key.size(), text);
  };
  put("{feature_name}", feature);
  put("{transformer_name}", transformer);
  return name;
}

void require_unique_names(std::string_view owner, const std::vector<Feature>& features) {
  std::set<std::string_view> seen;
  for (const Feature& feature : features)
    require(seen.insert(feature.name).second, ErrorCode::kBadData,
            "{}: two output columns are named '{}'; set verbose_feature_names_out to true", owner, feature.name);
}

template std::unique_ptr<Estimator<float>> make_nested(const schema::Step&, const std::string&);
template std::unique_ptr<Estimator<double>> make_nested(const schema::Step&, const std::string&);
template class NestedTransformer<float>;
template class NestedTransformer<double>;
template Samples<float> first_row(const Context&, const Samples<float>&);
template Samples<double> first_row(const Context&, const Samples<double>&);

}  // namespace kedge::engine
