// The job service: checks what callers ask, and puts store, dispatcher, data sets and subscriptions together.
#include "server/jobs/job_service.h"

#include <fmt/core.h>

#include <algorithm>

#include "crypto/digest.h"
#include "engine/core/stop.h"
#include "engine/faults/fail_point.h"
#include "engine/job/job_check.h"
#include "engine/table/preview.h"
#include "engine/table/row_filter.h"
#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/data/inline_data.h"
#include "server/data/partial_uploads.h"
#include "server/jobs/dispatcher.h"
#include "server/jobs/fetch_pool.h"
#include "server/jobs/model_digests.h"
#include "server/jobs/model_journal.h"
#include "server/jobs/model_retention.h"
#include "server/jobs/subscriptions.h"
#include "server/store/clock.h"
#include "server/store/registry_statements.h"
#include "server/store/retention.h"
#include "server/store/store.h"
#include "server/store/write_and_wait.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMaxPageSize = 500;
constexpr std::size_t kMaxKeyLength = 255;
constexpr double kMaxDeadline = 365 * 24 * 3600.0;
constexpr std::chrono::seconds kCheckTime{10};                     // of a processor, for the check of one description
constexpr std::size_t kQuickCheckBytes = std::size_t{512} << 10;   // read in some milliseconds

std::filesystem::path beside_this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedge-worker";
}

void check_key(const std::string& key) {
  const auto is_plain = [](char c) { return c > ' ' && c < 127; };
  if (key.size() <= kMaxKeyLength && std::ranges::all_of(key, is_plain)) return;
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("Idempotency-Key has {} characters, must have at most {}, printable ASCII without spaces", key.size(),
                          kMaxKeyLength),
              "Idempotency-Key");
}

void check_deadlines(const schema::Deadlines& deadlines) {
  const auto check = [](double seconds, std::string_view name) {
    if (!(seconds >= 0 && seconds <= kMaxDeadline))   // NaN is refused as well
      throw Error(ErrorCode::kInvalidValue, fmt::format("deadlines.{} is {}, must be 0 to {} seconds", name, seconds, kMaxDeadline),
                  fmt::format("deadlines.{}", name));
  };
  check(deadlines.queue, "queue"), check(deadlines.fetch, "fetch"), check(deadlines.run, "run");
}

// The same for the same description, however it was written.
std::string spec_digest(const schema::JobSpec& spec) {
  const std::vector<std::byte> bytes = schema::to_binary(spec);
  return crypto::hex_digest(crypto::DigestKind::kSha256, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::filesystem::path dataset_directory(const JobServiceOptions& options) {
  return options.data.directory.empty() ? options.data_dir / "datasets" : options.data.directory;
}

// In messages; equal content of others has other names.
std::string name_of(const Uploads& uploads, const std::string& tenant, const std::string& digest) {
  const std::string name = uploads.name_of(tenant, digest);
  return name.empty() ? "the data of the job" : "stored " + name;
}

// Fills in what the caller left out.
JobServiceOptions complete(JobServiceOptions options, std::unique_ptr<DatasetCache>& cache, Uploads& uploads) {
  if (options.worker_program.empty()) options.worker_program = beside_this_program();
  if (!options.validate) {
    options.validate = [](const schema::JobSpec& spec, std::stop_token stop) {
      engine::check_job(spec, {.stop = std::move(stop), .processor_time = kCheckTime});
    };
  }
  if (!options.acquire) {
    options.data.directory = dataset_directory(options);
    options.data.max_cache_bytes = options.limits.cache_bytes;
    cache = std::make_unique<DatasetCache>(options.data);
    options.acquire = [&cache = *cache, &uploads](const schema::DatasetRef& ref, const std::function<void(schema::EventBody)>& emit,
                                                  std::stop_token stop, const DataCaller& caller) {
      const auto* stored = std::get_if<schema::StoredRef>(&ref.source);
      CacheHold hold = stored ? uploads.hold(caller.tenant, stored->name)
                              : nullptr;   // before the look: a file that is found then stays
      AcquiredDataset data = cache.acquire(ref, emit, stop, caller);
      if (stored) data.hold = std::move(hold), data.name = name_of(uploads, caller.tenant, stored->name);
      return data;
    };
  }
  return options;
}

// The rows that the selection leaves, in the cache as well.
AcquiredDataset filtered(DatasetCache& cache, const schema::Select& select, AcquiredDataset from,
                         std::stop_token stop) {
  const auto write = [&select, path = from.path, name = from.name, stop](const std::filesystem::path& output) {
    const engine::StopScope scope(stop);
    engine::DatasetFile data(path);
    data.name_columns();
    if (!name.empty()) data.set_name(name);
    engine::write_filtered_rows(select, data, output);
  };
  return cache.derived(std::move(from), engine::row_filter_key(select), write, stop);
}

// cache: null where the options have an acquire() of their own
DispatcherOptions dispatcher_options(const JobServiceOptions& options, const JobFiles& files, ModelJournal& models,
                                     std::function<void(const std::string&)> check_model) {
  return {.workers = {.program = {.file = options.worker_program,
                                  .temporary = options.data_dir / "tmp",
                                  .log = options.worker_log,
                                  .memory_bytes = options.worker_memory_bytes,
                                  .cluster = options.cluster},
                      .heartbeat_timeout = options.heartbeat_timeout,
                      .cancel_grace = options.cancel_grace},
          .devices = options.devices,
          .data = {.acquire = options.acquire, .check_model = std::move(check_model)},
          .files = &files,
          .models = &models,
          .tenants = options.limits.tenants,
          .deadlines = options.limits.deadlines,
          .observer = options.observer};
}

}  // namespace

// Members are destroyed from the last to the first: the dispatcher before all that it uses.
struct JobService::Impl {
  explicit Impl(JobServiceOptions given)
      : store(given.data_dir, [this](const std::string& job) { subscriptions.notify(job); }, committed(given.observer)),
        files(given.data_dir),
        bytes(given.limits.tenants.bytes),
        uploads(dataset_directory(given), bytes, given.data.by_tenant),
        options(complete(std::move(given), cache, uploads)),
        ids(store.last_job_id()),
        models(store, clean_files()),
        dispatcher(store, wired_options()),
        retention(store, options.limits.retention, [this](const Expired& job) { forget_artifacts(job); }) {
    uploads.set_most_content_bytes(options.limits.tenants.content_bytes);
    uploads.partials().set_kept(options.limits.kept_uploads);
    for (const std::string& job : uploads.jobs())   // whose jobs ended when the server did
      if (!dispatcher.is_open(job)) uploads.drop_job(job);
  }

  // What of the dispatcher's work this service does.
  DispatcherOptions wired_options() {
    DispatcherOptions wired = dispatcher_options(options, files, models, [this](const std::string& model) { check(model); });
    if (cache) {
      wired.data.filter = [this](const schema::Select& select, AcquiredDataset from, std::stop_token stop) {
        return filtered(*cache, select, std::move(from), std::move(stop));
      };
      wired.data.recall = [this](const schema::DatasetRef& ref, const DataCaller& caller) {
        return cache->recall(ref, caller);
      };
      wired.data.needs_network = [this](const schema::DatasetRef& ref, const DataCaller& caller) {
        return cache->needs_network(ref, caller);
      };
    }
    wired.bytes = &bytes;
    wired.ended = [this](const std::string& job) {
      if (uploads.has_job(job) && !KEDGE_CONTROL("keep-data-of-jobs")) removals.run([this, job] { uploads.drop_job(job); });
    };
    return wired;
  }

  // Models and artifacts that are there count for their tenants.
  void count_files() {
    for (const auto& [tenant, size] : store.model_bytes_by_tenant()) bytes.charge(tenant, size);
    for (const auto& [job, size] : files.artifact_bytes()) bytes.charge(store.tenant(job).value_or(""), size);
  }

  void forget_artifacts(const Expired& job) {
    const std::uint64_t size = files.artifact_bytes_of(job.job);
    if (size == 0) return;
    files.retract(job.job, 0, "");
    bytes.release(job.tenant, size);
  }

  static std::function<void(double)> committed(JobObserver* observer) {
    if (!observer) return {};
    return [observer](double seconds) { observer->store_committed(seconds); };
  }

  // Before the first job runs: what a crash left and no row knows.
  const JobFiles& clean_files() {
    std::error_code ignored;
    std::filesystem::remove_all(options.data_dir / "tmp", ignored);   // of workers that went with their server
    files.remove_orphans([this](const std::string& id) { return store.find_model(id).has_value(); },
                         [this](const std::string& id) {
                           const std::optional<schema::Job> job = store.find(id);
                           return job && job->state == schema::JobState::kSucceeded;
                         });
    count_files();
    return files;
  }

  // Before a job works with a model. Errors as JobService::check_model().
  void check(const std::string& id) {
    const std::optional<schema::ModelInfo> model = store.find_model(id);
    if (model) digests.check(used_file(id), *model);
  }

  // Where the file of a model is that is worked with now.
  std::filesystem::path used_file(std::string_view id) const {
    std::filesystem::path file = models.file_of(id);
    ModelRetention::note_use(file);
    return file;
  }

  schema::ModelInfo model(std::string_view id) const {
    std::optional<schema::ModelInfo> found = store.find_model(id);
    if (!found) throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", id));
    return std::move(*found);
  }

  Subscriptions subscriptions;
  Store store;   // first of the rest: its lock keeps a second server away from everything else
  const JobFiles files;
  TenantBytes bytes;
  Uploads uploads;
  std::unique_ptr<DatasetCache> cache;
  const JobServiceOptions options;
  JobIds ids;
  ModelDigests digests;
  ModelJournal models;
  mutable KnownModels known;
  const std::unique_ptr<ModelRegistry> registry = make_model_registry(store);
  FetchPool removals{1};   // of data whose jobs have ended
  Dispatcher dispatcher;
  Retention retention;   // ends early, as the next does: they write
  std::optional<ModelRetention> model_retention;
};

JobService::JobService(JobServiceOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->model_retention.emplace(impl_->store, impl_->files, impl_->options.limits.models, [this](const std::string& id) { delete_model(id); });
}
JobService::~JobService() = default;

void JobService::validate(const schema::JobSpec& spec, std::stop_token stop) const { impl_->options.validate(spec, std::move(stop)); }

bool JobService::takes_long_to_validate(const schema::JobSpec& spec) const { return engine::check_size(spec) > kQuickCheckBytes; }

void JobService::check_surroundings(const schema::JobSpec& spec) const {
  check_deadlines(spec.deadlines);
  check_registration(spec);
  if (const std::string reason = impl_->dispatcher.missing_reason(spec.device); !reason.empty())
    throw Error(ErrorCode::kDeviceUnavailable, reason, "device");
}

std::string JobService::submit(schema::JobSpec spec, std::function<void(schema::Job)> submitted,
                        std::function<void(const Error&)> failed, const SubmitOptions& options) {
  check_key(options.idempotency_key);
  if (!options.is_valid) validate(spec);
  check_surroundings(spec);
  const bool is_again =
      !options.idempotency_key.empty() && impl_->store.has_key(options.tenant, options.idempotency_key);
  if (!spec.registerAs.empty() && !is_again) impl_->registry->require_room(options.tenant, spec.registerAs);
  std::string digest = spec_digest(spec), id = options.id.empty() ? new_id() : options.id;
  describe_data(spec);
  std::optional<schema::JobSpec> shown = KEDGE_CONTROL("whole-lists") ? std::nullopt : without_long_data(spec);
  impl_->dispatcher.submit({.job = {.id = id, .spec = std::move(spec)},
                            .tenant = options.tenant,
                            .idempotency_key = options.idempotency_key,
                            .digest = std::move(digest),
                            .trace = options.trace,
                            .shown = std::move(shown)},
                           {.submitted = std::move(submitted), .failed = std::move(failed), .ended = options.ended});
  return id;
}

std::string JobService::new_id() { return impl_->ids.next(); }

Uploads& JobService::uploads() { return impl_->uploads; }

TenantBytes& JobService::tenant_bytes() { return impl_->bytes; }
schema::DatasetPreview JobService::preview(const schema::PreviewRequest& request, const std::string& tenant, std::int64_t n_rows,
                                           std::stop_token stop) const {
  engine::check_dataset(request.dataset, request.select);
  AcquiredDataset acquired =
      impl_->options.acquire(request.dataset, [](schema::EventBody) {}, stop, {.tenant = tenant});
  if (impl_->cache && engine::filters_rows(request.select))
    acquired = filtered(*impl_->cache, request.select, std::move(acquired), stop);
  const engine::StopScope scope(std::move(stop));
  schema::DatasetPreview preview = engine::preview_of(request, engine::DatasetFile(acquired.path), n_rows);
  if (!acquired.name.empty()) preview.name = acquired.name;   // what the caller calls it
  return preview;
}

void JobService::require_room(const std::string& tenant) const { impl_->dispatcher.require_room(tenant); }

std::optional<std::string> JobService::tenant(std::string_view id) const { return impl_->store.tenant(id); }

std::string JobService::trace(std::string_view id) const { return impl_->store.trace(id); }

std::optional<schema::Job> JobService::find(std::string_view id) const { return impl_->store.find(id); }

std::optional<OwnedJob> JobService::find_owned(std::string_view id) const { return impl_->store.find_owned(id); }

std::uint64_t JobService::removals() const { return impl_->store.removals(); }

schema::JobPage JobService::list(const JobFilter& filter) const {
  if (filter.page_size < 1 || filter.page_size > kMaxPageSize)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("the page size is {}, must be 1 to {}", filter.page_size, kMaxPageSize), "pageSize");
  if (!filter.page_token.empty() && !JobIds::is_id(filter.page_token))
    throw Error(ErrorCode::kInvalidValue, "the page token is not one that this server gave out", "pageToken");
  if (!filter.search.empty())
    return impl_->store.search(filter.search, filter.state, filter.page_size, filter.page_token, filter.tenant);
  return impl_->store.list(filter.state, filter.page_size, filter.page_token, filter.tenant);
}

JobChanges JobService::changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant) const {
  return impl_->store.changes(after, limit, tenant);
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

bool JobService::is_open(std::string_view id) const { return impl_->dispatcher.is_open(id); }

std::shared_ptr<void> JobService::subscribe(std::string_view id, std::function<void()> wake) {
  return impl_->subscriptions.add(id, std::move(wake));
}

std::optional<schema::ModelInfo> JobService::find_model(std::string_view id) const { return impl_->store.find_model(id); }

std::filesystem::path JobService::model_file(std::string_view id) const { return impl_->used_file(impl_->model(id).id); }

std::shared_ptr<const OwnedModel> JobService::known_model(std::string_view id) const {
  return impl_->known.find(id);
}

std::shared_ptr<const OwnedModel> JobService::owned_model(std::string_view id) const {
  return impl_->known.find_or(id, [&]() -> std::shared_ptr<const OwnedModel> {
    std::optional<schema::ModelInfo> info = impl_->store.find_model(id);
    std::optional<std::string> tenant = impl_->store.model_tenant(id);
    if (!info || !tenant) return nullptr;
    return std::make_shared<OwnedModel>(OwnedModel{std::move(*info), std::move(*tenant)});
  });
}

std::filesystem::path JobService::check_model(std::string_view id) {
  const std::shared_ptr<const OwnedModel> model = owned_model(id);
  if (!model) throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", id));
  std::filesystem::path file = impl_->used_file(id);
  impl_->digests.check(file, model->info);
  return file;
}

std::optional<std::string> JobService::model_tenant(std::string_view id) const {
  const std::shared_ptr<const OwnedModel> model = owned_model(id);
  return model ? std::optional(model->tenant) : std::nullopt;
}

schema::ModelPage JobService::list_models(std::int64_t page_size, std::string_view page_token,
                                          const std::optional<std::string>& tenant) const {
  const bool is_id = page_token.starts_with("mdl_") && JobIds::is_id("job_" + std::string(page_token.substr(4)));   // JobFiles::model_id_of()
  if (!page_token.empty() && !is_id) throw Error(ErrorCode::kInvalidValue, "the page token is not one that this server gave out", "pageToken");
  return impl_->store.list_models(page_size, page_token, tenant);
}

schema::ModelInfo JobService::add_model(const std::filesystem::path& file, schema::ModelInfo model, const std::string& tenant) {
  model.id = JobFiles::model_id_of(impl_->ids.next());
  model.created = format_time(std::chrono::system_clock::now());
  std::error_code missing;
  TenantBytes::Reservation bytes = impl_->bytes.reserve(tenant, std::filesystem::file_size(file, missing));
  NewModel adopted = impl_->models.adopt_file(file, std::move(model));
  try {
    write_and_wait(impl_->store, [&](StoreWriter& writer) { writer.insert_model(adopted, tenant); });
  } catch (const Error&) {
    impl_->models.remove(adopted.info.id);
    throw;
  }
  bytes.keep();
  return std::move(adopted.info);
}

// The row is removed first: a crash in between leaves a file that no row names, and the next start removes it.
void JobService::delete_model(std::string_view id) {
  const std::optional<schema::ModelInfo> model = impl_->store.find_model(id);
  const std::optional<std::string> tenant = impl_->store.model_tenant(id);
  bool is_there = false;
  write_and_wait(impl_->store, [&](StoreWriter& writer) {
    writer.registry().require_unregistered(id);
    is_there = writer.delete_model(id);
  });
  impl_->known.forget(id);
  if (is_there && model && tenant) impl_->bytes.release(*tenant, static_cast<std::uint64_t>(model->bytes));
  if (!is_there) throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", id));
  impl_->models.remove(id);
}

ModelRegistry& JobService::registry() {
  return *impl_->registry;
}

const JobFiles& JobService::files() const { return impl_->files; }

std::vector<schema::DeviceEntry> JobService::devices() const { return impl_->dispatcher.devices(); }

Load JobService::load() const {
  Load load = impl_->dispatcher.load();
  load.store_backlog = impl_->store.backlog();
  if (impl_->cache) load.cache_bytes = impl_->cache->bytes();
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(impl_->options.data_dir, unknown);
  if (!unknown) load.free_bytes = space.available;
  return load;
}

std::string JobService::unready_reason() const {
  if (impl_->dispatcher.draining()) return "the server is stopping";
  const std::optional<Error> failure = impl_->store.failure();
  return failure ? failure->message : std::string();
}

void JobService::set_limits(const ServiceLimits& limits) {
  impl_->dispatcher.set_limits(limits.tenants, limits.deadlines);
  impl_->bytes.set_most(limits.tenants.bytes);
  impl_->uploads.set_most_content_bytes(limits.tenants.content_bytes);
  impl_->uploads.partials().set_kept(limits.kept_uploads);
  impl_->retention.set_options(limits.retention);
  impl_->model_retention->set_bounds(limits.models);
  if (impl_->cache) impl_->cache->set_max_bytes(limits.cache_bytes);
}

void JobService::begin_drain() { impl_->dispatcher.begin_drain(); }

void JobService::drain(std::chrono::milliseconds patience) { impl_->dispatcher.drain(patience); }

}  // namespace kedge::server
