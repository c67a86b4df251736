// What a job's end adds to the job that was submitted.
#pragma once

#include <optional>
#include <string>

#include "schemas/job.h"

namespace kedge::server {

struct JobEnd {
  schema::JobState state = schema::JobState::kFailed;
  std::string reason;
  std::optional<schema::Error> error;
  std::int64_t attempts = 0;
  std::string started, ended;
  std::optional<schema::Result> result;

  // `job` becomes what the store has of it.
  void complete(schema::Job& job) && {
    job.state = state, job.reason = std::move(reason), job.error = std::move(error), job.attempts = attempts;
    job.started = std::move(started), job.ended = std::move(ended), job.result = std::move(result);
  }
};

}  // namespace kedge::server
