// The job service: checks what callers ask, and puts store, dispatcher, data sets and subscriptions together.
#include "server/jobs/job_service.h"

#include <fmt/core.h>

#include <future>

#include "engine/pipeline.h"
#include "schemas/error.h"
#include "server/jobs/clock.h"
#include "server/jobs/dispatcher.h"
#include "server/jobs/store.h"
#include "server/jobs/subscriptions.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMaxPageSize = 500;

std::filesystem::path beside_this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedge-worker";
}

// Fills in what the caller left out.
JobServiceOptions complete(JobServiceOptions options, std::unique_ptr<DatasetCache>& cache) {
  if (options.worker_program.empty()) options.worker_program = beside_this_program();
  if (!options.validate) options.validate = [](const schema::JobSpec& spec) { engine::Pipeline::build(spec); };
  if (!options.acquire) {
    if (options.data.directory.empty()) options.data.directory = options.data_dir / "datasets";
    cache = std::make_unique<DatasetCache>(options.data);
    options.acquire = [&cache = *cache](const schema::DatasetRef& ref, const std::function<void(schema::EventBody)>& emit,
                                        std::stop_token stop) { return cache.acquire(ref, emit, stop); };
  }
  return options;
}

DispatcherOptions dispatcher_options(const JobServiceOptions& options, const JobFiles& files) {
  return {.workers = {.program = options.worker_program,
                      .heartbeat_timeout = options.heartbeat_timeout,
                      .cancel_grace = options.cancel_grace},
          .devices = options.devices,
          .acquire = options.acquire,
          .files = &files};
          .open_jobs_per_tenant = options.open_jobs_per_tenant,
          .ended = options.ended};
}

}  // namespace

// Members are destroyed from the last to the first: the dispatcher before all that it uses.
struct JobService::Impl {
  explicit Impl(JobServiceOptions given)
      : store(given.data_dir, [this](const std::string& job) { subscriptions.notify(job); }),
        files(given.data_dir),
        options(complete(std::move(given), cache)),
        ids(store.last_job_id()),
        dispatcher(store, dispatcher_options(options, clean_files())) {}

  // Before the first job runs: what a crash left and no row knows.
  const JobFiles& clean_files() {
    files.remove_orphans([this](const std::string& id) { return store.find_model(id).has_value(); },
                         [this](const std::string& id) {
                           const std::optional<schema::Job> job = store.find(id);
                           return job && job->state == schema::JobState::kSucceeded;
                         });
    return files;
  }

  // Returns when the write is on disk. Errors: what it was refused with.
  void write_and_wait(std::function<void(StoreWriter&)> apply) {
    auto done = std::make_shared<std::promise<void>>();   // shared by the callbacks of one write
    store.enqueue({.apply = std::move(apply),
                   .committed = [done] { done->set_value(); },
                   .refused = [done](const Error& error) { done->set_exception(std::make_exception_ptr(error)); }});
    done->get_future().get();
  }

  Subscriptions subscriptions;
  Store store;   // first of the rest: its lock keeps a second server away from everything else
  const JobFiles files;
  std::unique_ptr<DatasetCache> cache;
  const JobServiceOptions options;
  JobIds ids;
  Dispatcher dispatcher;
};

JobService::JobService(JobServiceOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
JobService::~JobService() = default;

void JobService::submit(schema::JobSpec spec, std::function<void(schema::Job)> submitted,
                        std::function<void(const Error&)> failed, const std::string& tenant) {
  impl_->options.validate(spec);
  if (const std::string* model = schema::model_of(spec.task); model && !impl_->store.find_model(*model)) {
    const bool predicts = std::holds_alternative<schema::Predict>(spec.task);
    throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", *model), predicts ? "task.predict.model" : "task.transform.model");
  }
  if (const std::string reason = impl_->dispatcher.missing_reason(spec.device); !reason.empty())
    throw Error(ErrorCode::kDeviceUnavailable, reason, "device");
  impl_->dispatcher.submit({.id = impl_->ids.next(), .spec = std::move(spec)}, tenant, std::move(submitted), std::move(failed));
}

std::optional<std::string> JobService::tenant(std::string_view id) const { return impl_->store.tenant(id); }

std::optional<schema::Job> JobService::find(std::string_view id) const { return impl_->store.find(id); }

schema::JobPage JobService::list(const JobFilter& filter) const {
  if (filter.page_size < 1 || filter.page_size > kMaxPageSize)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("the page size is {}, must be 1 to {}", filter.page_size, kMaxPageSize), "pageSize");
  if (!filter.page_token.empty() && !JobIds::is_id(filter.page_token))
    throw Error(ErrorCode::kInvalidValue, "the page token is not one that this server gave out", "pageToken");
  return impl_->store.list(filter.state, filter.page_size, filter.page_token, filter.tenant);
}

void JobService::cancel(std::string_view id) {
  if (impl_->dispatcher.cancel(id)) return;
  const std::optional<schema::Job> job = impl_->store.find(id);
  if (!job) throw Error(ErrorCode::kNotFound, fmt::format("there is no job {}", id));
  throw Error(ErrorCode::kConflict, fmt::format("job {} has ended: {}", id, schema::job_state_name(job->state)));
}

std::vector<schema::Event> JobService::events(std::string_view id, std::int64_t after, std::size_t limit) const {
  return impl_->store.events(id, after, limit);
}

std::shared_ptr<void> JobService::subscribe(std::string_view id, std::function<void()> wake) {
  return impl_->subscriptions.add(id, std::move(wake));
}

std::optional<schema::ModelInfo> JobService::find_model(std::string_view id) const { return impl_->store.find_model(id); }

schema::ModelPage JobService::list_models(std::int64_t page_size, std::string_view page_token) const {
  return impl_->store.list_models(page_size, page_token);
}

schema::ModelInfo JobService::add_model(const std::filesystem::path& file, schema::ModelInfo model) {
  model.id = JobFiles::model_id_of(impl_->ids.next());
  model.created = format_time(std::chrono::system_clock::now());
  model.bytes = static_cast<std::int64_t>(std::filesystem::file_size(file));
  impl_->files.adopt_model(file, model.id);
  try {
    impl_->write_and_wait([&](StoreWriter& writer) { writer.insert_model(model); });
  } catch (const Error&) {
    std::filesystem::remove(impl_->files.model_path(model.id));
    throw;
  }
  return model;
}

// The row goes first: a crash in between leaves a file that nobody lists, which the next start removes.
void JobService::delete_model(std::string_view id) {
  bool is_there = false;
  impl_->write_and_wait([&](StoreWriter& writer) { is_there = writer.delete_model(id); });
  if (!is_there) throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", id));
  std::filesystem::remove(impl_->files.model_path(id));
}

const JobFiles& JobService::files() const { return impl_->files; }

std::vector<schema::DeviceEntry> JobService::devices() const { return impl_->dispatcher.devices(); }

bool JobService::ready() const { return impl_->store.healthy(); }

}  // namespace kedge::server
