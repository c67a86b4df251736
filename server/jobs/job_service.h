// The job service: what the API calls. Owns the store, the queue, the event log and the supervisor with its workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/event.h"
#include "schemas/job.h"
#include "schemas/model.h"
#include "schemas/preview.h"
#include "server/data/dataset_cache.h"
#include "server/data/uploads.h"
#include "server/jobs/cluster.h"
#include "server/jobs/job_end.h"
#include "server/jobs/job_files.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/known_models.h"
#include "server/jobs/load.h"
#include "server/jobs/model_registry.h"
#include "server/jobs/service_limits.h"
#include "server/store/owned_job.h"

namespace kedge::server {

struct JobServiceOptions {
  std::filesystem::path data_dir;
  DataOptions data;
  std::filesystem::path worker_program;      // kedge-worker; empty: in the folder of this program
  std::int64_t worker_memory_bytes = 0;      // address space of a worker without a GPU; 0: no bound
  std::vector<std::string> devices;          // devices to run workers for; empty: every one that is there
  ClusterOptions cluster;                    // the device "cluster"
  std::chrono::milliseconds heartbeat_timeout{10'000};   // silence after which a worker is killed and replaced
  std::chrono::milliseconds cancel_grace{900};           // from a cancel to the kill of a worker that does not answer: cancels take 1 s at most
  ServiceLimits limits;                                  // at first: see set_limits()
  std::string worker_log = "off";                        // lines of the workers' runs: text, json or off
  JobObserver* observer = nullptr;                       // outlives the service; null: none
  // In place of Pipeline::build and of a DatasetCache of `data`, for tests of the service alone; empty: those.
  std::function<void(const schema::JobSpec&, std::stop_token)> validate;
  std::function<AcquiredDataset(const schema::DatasetRef&, const std::function<void(schema::EventBody)>&, std::stop_token,
                                const DataCaller& caller)>
      acquire;
};

struct JobFilter {
  std::optional<schema::JobState> state;
  std::int64_t page_size = 50;               // 1 .. 500
  std::string page_token;
  std::optional<std::string> tenant;         // only this one's jobs; unset: all
  std::string search = {};                   // words, all of which must be found (store/job_search.h); empty: every job
};

struct SubmitOptions {
  std::string tenant;            // whose job it is
  std::string idempotency_key;
  std::string trace;             // a traceparent (W3C), for the job's events and the log
  bool is_valid = false;         // the caller has called validate()
  std::string id;                // as new_id() gave it; empty: a new one
  // Called once, from a service thread, when the end of the new job is on disk, and not when it was lost with the server or memory lacks. With it `submitted`
  // may come some milliseconds late, so that a short job goes to the disk once, with its end.
  std::function<void(JobEnd)> ended;
};

// Thread safe. Calls that write return when the write is on disk (group commit); none blocks on a running job.
class JobService {
 public:
  // Opens the store (creates it when new), puts interrupted jobs back into the queue and starts the workers without waiting for
  // them. Errors: kUnavailable when the data directory cannot be used or another server holds it.
  explicit JobService(JobServiceOptions options);
  ~JobService();   // running jobs are stopped and stay in the store as queued; workers have ended when it returns

  // Checks a description (Pipeline::build) within ten seconds of processor time. Errors: the first broken rule; kInvalidValue when the time
  // is over; kCancelled when stopped.
  void validate(const schema::JobSpec& spec, std::stop_token stop = {}) const;
  // Whether that may take longer than some milliseconds. Such a check belongs on a thread that serves no other calls.
  bool takes_long_to_validate(const schema::JobSpec& spec) const;
  // What else submit() refuses of a description: deadlines that cannot be kept, a name that
  // its model cannot be registered as, a device that is known to be missing.
  void check_surroundings(const schema::JobSpec& spec) const;

  // Validates, stores, queues. `submitted` is called once, from a service thread, when the job is on disk.
  // `failed` is called instead, perhaps before submit() returns, when the disk does not take it (kUnavailable).
  // With an idempotency key that this tenant used in the last 24 hours nothing new happens: `submitted` gets the first
  // answer again, or `failed` kIdempotencyKeyReused when the spec is another one, or kNotFound at Idempotency-Key when
  // that job has been forgotten. Returns the id of the job if it is a new one. It belongs to its tenant. Throws for a
  // bad spec; kTooManyRequests beyond the tenant's quota; kConflict where the registry has no room for the model's
  // name; kDeviceUnavailable, with the reason, for a device that is known to be missing.
  std::string submit(schema::JobSpec spec, std::function<void(schema::Job)> submitted,
                     std::function<void(const schema::Error&)> failed = {}, const SubmitOptions& options = {});

  // For a job that is submitted soon: what comes with it can have its name.
  std::string new_id();
  // What a data set holds, which is fetched and parsed where it is not there yet: blocks for that. n_rows: 1 to 100. Errors: those of
  // submit() for the reference and the selection, of fetching and parsing, kCancelled when `stop` says so.
  schema::DatasetPreview preview(const schema::PreviewRequest& request, const std::string& tenant, std::int64_t n_rows, std::stop_token stop) const;

  // Errors: kTooManyRequests where the tenant has no room for one more job. submit() looks again; this is for a caller
  // that would have much to do before it.
  void require_room(const std::string& tenant) const;

  std::optional<std::string> tenant(std::string_view id) const;   // whose job it is; unset when there is none
  std::string trace(std::string_view id) const;                   // of the request that submitted it; empty: none is known
  std::optional<schema::Job> find(std::string_view id) const;     // with its result once there
  std::optional<OwnedJob> find_owned(std::string_view id) const;
  schema::JobPage list(const JobFilter& filter) const;
  // What has changed in the list since position `after`, 0 at first. To wait for the next change, subscribe to "".
  // Positions are numbers that never come back, also not after a restart. Removed jobs are left out.
  JobChanges changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant) const;
  // Grows when jobs were removed. A job that was found, and had ended, is found unchanged for as long as the number is what it was before.
  std::uint64_t removals() const;
  // From any state. kNotFound; kConflict when the job has ended.
  void cancel(std::string_view id);

  // Stored events of a job with id > after, oldest first, at most `limit`.
  std::vector<schema::Event> events(std::string_view id, std::int64_t after, std::size_t limit) const;
  // True until the job's end is on disk; false for one that is not known. Reads memory only.
  bool is_open(std::string_view id) const;
  // `wake` is called from a service thread after each new event of the job (and may be called once more than needed),
  // until the returned handle is destroyed; of the empty name after each change of the list. It must not block.
  // Destroying the handle waits for a call in progress.
  std::shared_ptr<void> subscribe(std::string_view id, std::function<void()> wake);

  // The file of a stored model that is listed; check_model() compares it with what its row says, once for each state of the file. Errors:
  // kNotFound, kModelCorrupt, and kUnavailable when the disk takes no file of a new one.
  std::filesystem::path model_file(std::string_view id) const;
  std::filesystem::path check_model(std::string_view id);
  std::optional<schema::ModelInfo> find_model(std::string_view id) const;
  // A model with its owner, remembered since it was last looked up: null when it is not. Reads memory only.
  std::shared_ptr<const OwnedModel> known_model(std::string_view id) const;
  std::shared_ptr<const OwnedModel> owned_model(std::string_view id) const;   // looks it up; null when there is none
  std::optional<std::string> model_tenant(std::string_view id) const;   // whose model it is; unset when there is none
  // page_size: 1 .. 500; tenant: only this one's models; unset: all
  schema::ModelPage list_models(std::int64_t page_size, std::string_view page_token, const std::optional<std::string>& tenant = {}) const;
  // Lists a model whose file is a finished one in the same file system, which is moved; returns it with its new id, when that is on disk.
  // Errors: schema::QuotaExceeded.
  schema::ModelInfo add_model(const std::filesystem::path& file, schema::ModelInfo model, const std::string& tenant = {});
  // kNotFound; kConflict when it is registered. A job that has opened the model keeps it; one that still waits will
  // fail.
  void delete_model(std::string_view id);
  ModelRegistry& registry();   // names and versions of stored models
  const JobFiles& files() const;
  Uploads& uploads();            // data sets by name, and the data of jobs, which goes when they have ended
  TenantBytes& tenant_bytes();   // what each tenant stores, its models and artifacts as well

  std::vector<schema::DeviceEntry> devices() const;   // as the workers reported them
  Load load() const;                                  // looks into the data directory: call it where that may be slow
  std::string unready_reason() const;                 // why no job is accepted now; empty: jobs are
  bool ready() const { return unready_reason().empty(); }

  // For what comes: jobs that are open stay, however many, and what a job does now keeps its deadline.
  void set_limits(const ServiceLimits& limits);

  // Not ready from here on; what runs continues, nothing else is started.
  void begin_drain();
  // The same, and waits for what runs, at most so long. What still runs then is queued again by the destructor.
  void drain(std::chrono::milliseconds patience);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server
