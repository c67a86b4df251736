// The names of job states and event kinds as they are on the wire, and what a task works with.
#include <array>

#include "schemas/event.h"
#include "schemas/job.h"

namespace kedge::schema {

std::string_view job_state_name(JobState state) {
  constexpr std::array<std::string_view, 7> kNames{"queued",    "fetching", "running",  "finalizing",
                                                   "succeeded", "failed",   "cancelled"};
  static_assert(kNames.size() == static_cast<std::size_t>(JobState::kCancelled) + 1);
  return kNames.at(static_cast<std::size_t>(state));
}

const std::string* model_of(const Task& task) {
  if (const auto* predict = std::get_if<Predict>(&task)) return &predict->model;
  const auto* transform = std::get_if<Transform>(&task);
  return transform ? &transform->model : nullptr;
}

std::string_view event_name(const EventBody& body) {
  constexpr std::array<std::string_view, 7> kNames{"state", "progress", "metric", "timing",
                                                   "log",   "result",   "gap"};
  static_assert(kNames.size() == std::variant_size_v<EventBody>);
  return kNames.at(body.index());
}

}  // namespace kedge::schema
