// The last part of a job's life: see publishing.h.
#include "server/jobs/publishing.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace kedge::server {
namespace {

using Clock = ActiveJob::Clock;
using schema::Error;
using schema::JobState;

}   // namespace

// The end of the computation and the end of the job are two states, so that what is published in between has a name.
bool Publishing::begin(const TableLock& held, const JobPointer& job, schema::DoneReport& report) {
  if (job->cancel_requested) {   // acknowledged, so it holds
    files_.discard(job->id, job->lease);
    table_.finish(held, job, {.state = JobState::kCancelled});
    return false;
  }
  table_.deadlines(held).clear(*job);
  job->finalizing_since = Clock::now();
  table_.change(held, job, {.state = JobState::kFinalizing, .held_lease = job->lease});
  table_.crashes(held).forget(*job);
  if (report.model) {
    report.model->id = report.result.model = JobFiles::model_id_of(job->id);
    report.model->job = job->id, report.model->created = table_.now(held);
  }
  return true;
}

// The files take their place before the row that makes them known is written.
Publishing::Files Publishing::place_files(const ActiveJob& job, schema::DoneReport& report) const {
  Files files;
  try {
    if (job.leaves_files) place(job, report, files);
  } catch (const Error& error) {
    files.failure = error;
  }
  return files;
}

void Publishing::place(const ActiveJob& job, schema::DoneReport& report, Files& files) const {
  files.model_bytes = reserve_model(job, report);
  if (bytes_ && !report.result.artifacts.empty())
    files.artifact_bytes = bytes_->reserve(job.tenant, files_.unfinished_bytes(job.id, job.lease));
  if (report.model && report.modelBytes.empty())
    files.model = models_.adopt_file(files_.unfinished_model(job.id, job.lease), std::move(*report.model));
  else if (report.model) files.model = models_.adopt_bytes(std::move(report.modelBytes), std::move(*report.model));
  if (!report.result.artifacts.empty()) files_.publish_artifacts(job.id, job.lease);
  else if (!files.model) files_.discard(job.id, job.lease);
}

// A result is worth keeping without its model.
TenantBytes::Reservation Publishing::reserve_model(const ActiveJob& job, schema::DoneReport& report) const {
  if (!report.model || !bytes_) return {};
  std::error_code missing;
  const std::uintmax_t size = report.modelBytes.empty()
                                  ? std::filesystem::file_size(files_.unfinished_model(job.id, job.lease), missing)
                                  : report.modelBytes.size();
  try {
    return bytes_->reserve(job.tenant, missing ? 0 : size);
  } catch (const Error& error) {
    report.model.reset();
    report.modelBytes.clear();
    report.result.model.clear();
    std::filesystem::remove(files_.unfinished_model(job.id, job.lease), missing);
    report.result.warnings.push_back(fmt::format("the model of {} bytes was not stored: {}", size, error.message));
    return {};
  }
}

void Publishing::end(const TableLock& held, const JobPointer& job, schema::DoneReport report, Files files) {
  const bool is_cancelled = schema::is_final(job->state);   // meanwhile
  if (is_cancelled || files.failure) {
    files_.retract(job->id, job->lease, report.result.model);
    if (!is_cancelled) table_.fail(held, job, *files.failure);
    return;
  }
  files.model_bytes.keep();
  files.artifact_bytes.keep();
  succeed(held, job, std::move(report.result), std::move(files.model));
}

void Publishing::succeed(const TableLock& held, const JobPointer& job, schema::Result result,
                         std::optional<NewModel> model) {
  const auto seconds_since = [now = Clock::now()](Clock::time_point start) {
    return std::chrono::duration<double>(now - start).count();
  };
  schema::Timings& timings = result.timings;
  timings.queued = job->queued_seconds;
  timings.download = job->data.download_seconds, timings.parse = job->data.parse_seconds, timings.cold = job->data.cold;
  timings.total = seconds_since(job->submitted);
  table_.observer().job_ran(timings, seconds_since(job->finalizing_since));
  std::string name = job->spec ? job->spec->registerAs : std::string();
  if (!name.empty() && !model)
    result.warnings.push_back(fmt::format("nothing was registered as '{}': the job has stored no model", name));
  table_.finish(held, job,
                {.state = JobState::kSucceeded,
                 .held_lease = job->lease,
                 .result = std::move(result),
                 .model = std::move(model),
                 .register_as = std::move(name),
                 .tenant = job->tenant});
}

}   // namespace kedge::server
