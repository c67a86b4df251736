// Which jobs are dealt over ranks: see dealt.h.
#include "engine/job/dealt.h"

#include <algorithm>
#include <type_traits>

#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"

namespace kedge::engine {

bool fit_is_dealt(const std::vector<schema::Step>& pipeline, const Device& device) {
  const bool sums_are_dealt = device.traits().uses_host_memory;
  return std::ranges::any_of(pipeline, [sums_are_dealt](const schema::Step& step) {
    const CatalogueEntry* const entry = find_estimator(step.estimator);
    if (!entry) return false;
    const bool is_whole_work = entry->dealt == DealtFit::kTrees || entry->dealt == DealtFit::kFits;
    return is_whole_work || (sums_are_dealt && deals_row_sums(entry->dealt));
  });
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
