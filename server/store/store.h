// The job store: jobs, their events and their results in one SQLite file, written by one thread with group commit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/event.h"
#include "schemas/job.h"
#include "schemas/model.h"
#include "server/store/owned_job.h"

namespace kedge::server {

class RegistryReader;
class RegistryWriter;

// A submit as the store sees it.
struct NewJob {
  schema::Job job;
  std::string tenant;            // its owner; empty without authentication
  std::string idempotency_key;   // of this tenant; empty: none
  std::string digest;   // of the spec: shows whether a key is used again for the same job, and which specs kill workers
  std::string trace = {};        // traceparent (W3C) of the request
  std::optional<schema::JobSpec> shown = {};   // what find() and list() tell in place of job.spec, without long data; unset: all
};

// A model that is to be listed.
struct NewModel {
  schema::ModelInfo info;
  std::string bytes = {};   // kept until settle_model(), which also keeps their digest; empty: its file is on disk
};

// A job's step from one state to the next. It is stored together with its event, or not at all.
struct StateChange {
  std::string job;
  schema::JobState state = schema::JobState::kQueued;
  std::string reason;
  std::optional<schema::Error> error;
  std::string time;                           // RFC 3339
  std::int64_t held_lease = 0;                // not 0: only if the job's lease is still this one
  std::int64_t new_lease = 0;                 // the lease from here on, never used before; 0: unchanged
  bool starts_attempt = false, crashed = false;
  std::optional<std::string> device;          // where the attempt runs
  std::optional<schema::Result> result;       // stored, with its event before the state's
  std::optional<NewModel> model = {};         // that the job has left; listed from then on
  // The name of which the model becomes a version, for the tenant; the store writes into the result which. A model for
  // which the registry has no room is stored without, and a warning says so.
  std::string register_as = {}, tenant = {};
};

// What a transaction may do. Used on the writer thread only.
class StoreWriter {
 public:
  virtual ~StoreWriter() = default;
  // A new job in state queued, with its first event. If its key belongs to a job of the last 24 hours, nothing changes
  // and that job is returned as it was answered then. Error{kIdempotencyKeyReused} when the key came with another spec,
  // kNotFound when that job has been forgotten.
  virtual std::optional<schema::Job> insert(const NewJob& job) = 0;
  // False, and nothing changed, if the job has ended already or its lease is another. The result gets the version that
  // its model has become.
  virtual bool change(StateChange& change) = 0;
  bool change(StateChange&& change) { return this->change(change); }
  // Appends an event under the same condition.
  virtual bool append(std::string_view job, std::int64_t held_lease, std::string_view time,
                      const schema::EventBody& body) = 0;
  virtual void request_cancel(std::string_view job) = 0;   // remembered across a restart
  // A model belongs to the tenant of the job that left it, otherwise to `tenant`.
  virtual void insert_model(const NewModel& model, std::string_view tenant = {}) = 0;
  virtual void settle_model(const schema::ModelInfo& model) = 0;   // as find_model() returns it: drops its bytes
  virtual bool delete_model(std::string_view id) = 0;      // false: there is none
  // For retention: forgets a job that has ended; forgets its events before number `first`; forgets keys older than a day.
  virtual void remove(std::string_view job) = 0;
  virtual void trim_events(std::string_view job, std::int64_t first) = 0;
  virtual void expire_keys() = 0;
  virtual RegistryWriter& registry() = 0;   // names and versions of models: registry_statements.h
};

// One write. All writes that wait at the same time become one transaction, in the order in which they came.
struct StoreWrite {
  std::string job;                               // whose subscribers are woken after the commit
  std::function<void(StoreWriter&)> apply;       // may run again if its transaction was rolled back
  std::function<void()> committed;               // on the writer thread, after the commit; may be empty
  // Set: called, and the write dropped, if the disk does not take it. Empty: it is tried again until the disk does.
  std::function<void(const schema::Error&)> refused;
  bool has_time = false;   // its caller waits for a later write anyway, so some milliseconds do not matter
};

// A job that has not ended, as found when the store is opened; interrupted ones are queued again by then.
struct OpenJob {
  std::string id, wish, created, tenant, digest, trace;
  std::int64_t crashes = 0;
  schema::Deadlines deadlines;
  schema::DatasetRef dataset = {};   // without the text of inline data
};

// What retention looks for. At most `limit` jobs, the one that ended first at the front.
struct Expired {
  std::string job;
  std::int64_t first_kept = 0;   // of its events
  std::string tenant = {};
};

// Thread safe. Errors of reading calls: kUnavailable when the disk fails.
class Store {
 public:
  // Takes the directory's lock, opens or creates kedge.db, brings it up to date. `woken` is called on the writer
  // thread, once per job and commit, after the commit, and with an empty name when the list has changed. Errors:
  // kUnavailable (another server holds the directory; cannot be read; damaged; newer). `committed` is called with the
  // seconds of each transaction, on the writer thread; may be empty.
  Store(const std::filesystem::path& directory, std::function<void(const std::string& job)> woken,
        std::function<void(double seconds)> committed = {});
  ~Store();
  void close();   // writes what waits, as far as the disk takes it, and ends the writer; later writes are dropped or refused

  std::vector<OpenJob> take_open_jobs();        // once, after opening
  std::string last_job_id() const;
  std::int64_t last_lease() const;              // no open job had a higher one when the store was opened
  // How often jobs of each tenant and spec (tenant, newline, digest) killed their workers for good since then.
  std::map<std::string, std::int64_t> crashes_since(std::string_view time) const;

  void enqueue(StoreWrite write);
  std::size_t backlog() const;                  // writes that wait
  std::uint64_t registry_changes() const;       // transactions that may have changed it; counted when they are on disk
  std::uint64_t removals() const;               // transactions since the start that removed jobs; counted when they are on disk
  std::optional<schema::Error> failure() const;   // why the last transaction was not committed; empty: it was

  std::optional<schema::Job> find(std::string_view id) const;   // with its result once there
  std::optional<OwnedJob> find_owned(std::string_view id) const;
  std::optional<schema::JobSpec> spec(std::string_view id) const;
  std::optional<std::string> tenant(std::string_view id) const;   // of a job; empty for one submitted without
  std::string trace(std::string_view id) const;                  // of the request that submitted a job; empty: none is known
  bool has_key(std::string_view tenant, std::string_view key) const;   // whether a job has or had this Idempotency-Key
  // tenant: of which jobs; unset: of all.
  schema::JobPage list(std::optional<schema::JobState> state, std::int64_t page_size, std::string_view before,
                       const std::optional<std::string>& tenant = {}) const;
  // The same of jobs in which all words are found (job_search.h). A page also ends when many jobs have been looked at.
  schema::JobPage search(std::string_view words, std::optional<schema::JobState> state, std::int64_t page_size,
                         std::string_view before, const std::optional<std::string>& tenant = {}) const;
  // Of the list since position `after`; numbers from 1. At most `limit` jobs.
  JobChanges changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant = {}) const;
  // With a gap at the front when the first of them are no longer kept.
  std::vector<schema::Event> events(std::string_view id, std::int64_t after, std::size_t limit) const;
  std::optional<schema::ModelInfo> find_model(std::string_view id) const;
  std::optional<std::string> model_tenant(std::string_view id) const;
  // Newest first. tenant: of which models; unset: of all.
  schema::ModelPage list_models(std::int64_t page_size, std::string_view before, const std::optional<std::string>& tenant = {}) const;

  std::map<std::string, std::uint64_t> model_bytes_by_tenant() const;

  std::vector<std::string> unsettled_models() const;
  std::optional<std::string> model_bytes(std::string_view id) const;   // of one of them

  void read_registry(const std::function<void(RegistryReader&)>& read) const;   // of what the last commit left

  std::vector<Expired> ended_before(std::string_view time, std::int64_t limit) const;      // whole jobs
  std::vector<Expired> events_ended_before(std::string_view time, std::int64_t limit) const;   // with more than their end
  std::vector<Expired> with_more_events_than(std::int64_t events, std::int64_t limit) const;
  std::int64_t used_bytes() const;              // of the file, without its free pages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server
