// Walks through the steps inside a step and multiplies what repeats them.
#include "engine/job/fit_count.h"

#include <algorithm>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/composition/nested.h"
#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr std::int64_t kUsualFolds = 5;

bool has_param(const schema::EstimatorInfo& info, std::string_view name) {
  return std::ranges::any_of(info.params, [&](const schema::ParamInfo& param) { return param.name == name; });
}

// As the user set it, or its default; null where the estimator has no such parameter.
Value value_of(const schema::EstimatorInfo& info, const schema::Step& step, std::string_view name) {
  if (const Value* const given = find_value(step.params, name)) return *given;
  const auto found = std::ranges::find(info.params, name, &schema::ParamInfo::name);
  return found == info.params.end() ? Value() : found->defaultValue;
}

bool is_step(const Value& value) {
  const auto* const map = std::get_if<ValueMap>(&value.data);
  const Value* const name = map ? find_value(*map, "estimator") : nullptr;
  return name && std::holds_alternative<std::string>(name->data);
}

void take_larger(FitCount& all, const FitCount& other) {
  if (other.largest > all.largest) all.largest = other.largest, all.field = other.field, all.value = other.value;
}

FitCount inside(const Value& value, const std::string& path);

// {"name": ..., "estimator": ...}, {"name": ..., "transformer": ...} or [name, value].
FitCount inside_part(const Value& part, const std::string& path) {
  if (const auto* const list = std::get_if<ValueList>(&part.data); list && list->size() >= 2)
    return inside((*list)[1], path + "[1]");
  const auto* const map = std::get_if<ValueMap>(&part.data);
  for (const char* const field : {"estimator", "transformer"})
    if (const Value* const held = map ? find_value(*map, field) : nullptr) return inside(*held, path + "." + field);
  return {.fits = 0};
}

// Of all steps within a value, one after the other; 0 fits where there are none.
FitCount inside(const Value& value, const std::string& path) {
  if (is_step(value)) return fit_count(step_of(value, path), path);
  FitCount all{.fits = 0};
  const auto* const list = std::get_if<ValueList>(&value.data);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const std::string here = fmt::format("{}[{}]", path, i);
    const FitCount one = is_step((*list)[i]) ? inside((*list)[i], here) : inside_part((*list)[i], here);
    all.fits += one.fits;
    take_larger(all, one);
  }
  return all;
}

// Times the number in a parameter.
void repeat(FitCount& all, double times, const std::string& field, const Value& value) {
  all.fits *= times;
  take_larger(all, {.fits = 1, .largest = times, .field = field, .value = schema::to_string(value)});
}

}   // namespace

FitCount fit_count(const schema::Step& step, const std::string& path) {
  const CatalogueEntry* const entry = find_estimator(step.estimator);
  if (!entry) return {};
  FitCount repeated{.fits = 0}, once{.fits = 0};   // a stack fits its last estimator once
  for (const auto& [name, value] : step.params) {
    const FitCount found = inside(value, path + ".params." + name);
    FitCount& all = name == "final_estimator" ? once : repeated;
    all.fits += found.fits;
    take_larger(all, found);
  }
  if (repeated.fits == 0 && (has_param(entry->info, "estimator") || has_param(entry->info, "regressor")))
    repeated.fits = 1;   // of the estimator that it takes by itself
  if (repeated.fits == 0) return {};
  if (const Value copies = value_of(entry->info, step, "n_estimators"); !copies.is_null())
    if (const auto* const n = std::get_if<std::int64_t>(&copies.data))
      repeat(repeated, static_cast<double>(*n), path + ".params.n_estimators", copies);
  if (has_param(entry->info, "cv")) {
    const Value cv = value_of(entry->info, step, "cv");
    const auto* const folds = std::get_if<std::int64_t>(&cv.data);
    const bool has_folds = folds || entry->info.family != "multioutput";   // a chain without cv has none
    if (has_folds) repeat(repeated, static_cast<double>(folds ? *folds : kUsualFolds) + 1, path + ".params.cv", cv);
  }
  repeated.fits += once.fits;
  take_larger(repeated, once);
  return repeated;
}

void check_fit_count(const schema::Step& step, const std::string& path) {
  const FitCount count = fit_count(step, path);
  if (count.fits <= kMostFits || count.field.empty()) return;
  const std::string name = count.field.substr(count.field.rfind('.') + 1);
  refuse(count.field,
         fmt::format("{}: a fit takes up to {:.6g} fits of the estimators inside of it, must be at most {:.0f}; "
                     "{} is {}, the largest of the numbers that multiply them",
                     step.estimator, count.fits, kMostFits, name, count.value));
}

}   // namespace kedge::engine
