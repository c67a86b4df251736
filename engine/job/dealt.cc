// Which jobs are dealt over ranks: see dealt.h.
#include "engine/job/dealt.h"

#include <algorithm>
#include <type_traits>

#include "engine/core/params.h"
#include "engine/estimators/dealt_sums.h"

namespace kedge::engine {

namespace {

const schema::Value* given(const schema::Step& step, std::string_view param) {
  const schema::Value* const value = find_value(step.params, param);
  return value && !value->is_null() ? value : nullptr;
}

// of_sums: null where its sums over rows are not dealt, because another step comes after it.
bool is_dealt(const schema::Step& step, const Device* of_sums);

// inside: a step, or a list of steps, of which the last one's sums are dealt.
bool is_dealt_inside(const schema::Value& inside, const Device* of_sums) {
  if (const auto* const list = std::get_if<schema::ValueList>(&inside.data))
    return std::ranges::any_of(*list, [&](const schema::Value& one) {
      return is_dealt_inside(one, &one == &list->back() ? of_sums : nullptr);
    });
  const auto* const step = std::get_if<schema::ValueMap>(&inside.data);
  const schema::Value* const name = step ? find_value(*step, "estimator") : nullptr;
  const auto* const estimator = name ? std::get_if<std::string>(&name->data) : nullptr;
  if (!estimator) return false;
  const schema::Value* const params = find_value(*step, "params");
  const auto* const set = params ? std::get_if<schema::ValueMap>(&params->data) : nullptr;
  return is_dealt({.estimator = *estimator, .params = set ? *set : schema::ValueMap()}, of_sums);
}

bool is_dealt(const schema::Step& step, const Device* of_sums) {
  const CatalogueEntry* const entry = find_estimator(step.estimator);
  if (!entry) return false;
  if (entry->dealt == DealtFit::kTrees || entry->dealt == DealtFit::kFits) return true;
  if (entry->dealt != DealtFit::kInside) return of_sums && deals_row_sums(*entry, *of_sums);
  if (given(step, "cv")) return true;
  const schema::Value* inside = given(step, "estimator");
  if (!inside) inside = given(step, "regressor");
  return inside ? is_dealt_inside(*inside, of_sums) : is_dealt({.estimator = std::string(entry->inside)}, of_sums);
}

}   // namespace

bool fit_is_dealt(const std::vector<schema::Step>& pipeline, const Device& device) {
  return std::ranges::any_of(pipeline, [&device](const schema::Step& step) { return is_dealt(step, &device); });
}

namespace {

// Values that are clipped are new rows.
RowsLeft left_by(const schema::Step& step, const CatalogueEntry& entry) {
  const schema::Value* const clip = find_value(step.params, "clip");
  const bool* const is_clipped = clip ? std::get_if<bool>(&clip->data) : nullptr;
  return is_clipped && *is_clipped ? RowsLeft::kWhole : entry.leaves;
}

}   // namespace

bool reads_own_rows(const schema::JobSpec& spec) {
  if (!std::holds_alternative<schema::Fit>(spec.task)) return false;
  for (std::size_t i = 0; i < spec.pipeline.size(); ++i) {
    const CatalogueEntry* const entry = find_estimator(spec.pipeline[i].estimator);
    if (!entry || entry->dealt != DealtFit::kOwnRows) return false;
    const RowsLeft left = left_by(spec.pipeline[i], *entry);
    if (i + 1 == spec.pipeline.size() || left == RowsLeft::kGiven) return true;
    if (left == RowsLeft::kWhole) return false;
  }
  return false;
}

bool job_is_dealt(const schema::JobSpec& spec, const Device& device) {
  const bool scores_are_dealt = device.traits().uses_host_memory;
  const auto is_dealt = [&]<class Task>(const Task&) {
    constexpr bool deals_fits =
        std::is_same_v<Task, schema::CrossValidate> || std::is_same_v<Task, schema::GridSearch> ||
        std::is_same_v<Task, schema::RandomizedSearch> || std::is_same_v<Task, schema::HalvingGridSearch> ||
        std::is_same_v<Task, schema::LearningCurve> || std::is_same_v<Task, schema::ValidationCurve> ||
        std::is_same_v<Task, schema::PermutationTestScore>;
    constexpr bool asks = std::is_same_v<Task, schema::Predict> || std::is_same_v<Task, schema::Transform>;
    const bool scores = std::is_same_v<Task, schema::FitScore> && scores_are_dealt;
    return deals_fits || asks || scores || fit_is_dealt(spec.pipeline, device);
  };
  return std::visit(is_dealt, spec.task);
}

}   // namespace kedge::engine
