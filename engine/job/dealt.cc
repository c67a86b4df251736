// Which jobs are dealt over ranks: see dealt.h.
#include "engine/job/dealt.h"

#include <algorithm>
#include <type_traits>

#include "engine/estimators/catalogue.h"

namespace kedge::engine {

bool fit_is_dealt(const std::vector<schema::Step>& pipeline) {
  return std::ranges::any_of(pipeline, [](const schema::Step& step) {
    const CatalogueEntry* const entry = find_estimator(step.estimator);
    return entry && entry->dealt != DealtFit::kNothing;
  });
}

bool reads_own_rows(const schema::JobSpec& spec) {
  if (!std::holds_alternative<schema::Fit>(spec.task) || spec.pipeline.size() != 1) return false;
  const CatalogueEntry* const entry = find_estimator(spec.pipeline[0].estimator);
  return entry && entry->dealt == DealtFit::kOwnRows;
}

bool job_is_dealt(const schema::JobSpec& spec) {
  const auto is_dealt = [&]<class Task>(const Task&) {
    constexpr bool deals_fits =
        std::is_same_v<Task, schema::CrossValidate> || std::is_same_v<Task, schema::GridSearch> ||
        std::is_same_v<Task, schema::RandomizedSearch> || std::is_same_v<Task, schema::HalvingGridSearch> ||
        std::is_same_v<Task, schema::LearningCurve> || std::is_same_v<Task, schema::ValidationCurve> ||
        std::is_same_v<Task, schema::PermutationTestScore>;
    constexpr bool predicts = std::is_same_v<Task, schema::FitScore> || std::is_same_v<Task, schema::Predict> ||
                              std::is_same_v<Task, schema::Transform>;
    return deals_fits || predicts || fit_is_dealt(spec.pipeline);
  };
  return std::visit(is_dealt, spec.task);
}

}   // namespace kedge::engine
