// The second part of a job's life: see fetching.h.
#include "server/jobs/fetching.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "engine/core/memory_reserve.h"
#include "engine/faults/fail_point.h"
#include "engine/table/columns_read.h"
#include "engine/table/row_filter.h"
#include "schemas/error.h"
#include "server/data/flight.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobState;

constexpr std::size_t kLocalPerTenant = 8;   // data sets that are read or parsed for it at a time, without the network

}   // namespace

Fetching::Fetching(Store& store, JobTable& table, Running& running, DataSource source)
    : store_(store),
      table_(table),
      running_(running),
      source_(std::move(source)),
      pool_(std::make_unique<FetchPool>(kMostLocal + kMostNetwork)) {
  local_.set_per_tenant(kLocalPerTenant);
}

void Fetching::set_limit(const TableLock&, std::size_t network_per_tenant) {
  network_.set_per_tenant(network_per_tenant);
}

Supply Fetching::supply_of(const schema::DatasetRef& ref, const DataCaller& caller) const {
  if (!source_.needs_network || KEDGE_CONTROL("share-no-fetches")) return Supply::kLocal;
  try {
    return source_.needs_network(ref, caller) ? Supply::kNetwork : Supply::kLocal;
  } catch (const Error&) {   // a reference that cannot be: its fetch says why
    return Supply::kLocal;
  }
}

void Fetching::add(const TableLock& held, const JobPointer& job) {
  table_.queue(held).push(job->id, job->queue_key(), job->supply);
  table_.deadlines(held).set_wait(*job);
}

void Fetching::start(const TableLock& held) {
  start(held, Supply::kLocal, local_);
  start(held, Supply::kNetwork, network_);
}

void Fetching::start(const TableLock& held, Supply supply, FetchSlots& slots) {
  const JobQueue::Fetching fetching{.may = [&](std::string_view tenant) { return slots.has_room(tenant); },
                                    .running = [&](std::string_view tenant) { return slots.running(tenant); }};
  while (table_.starts_work(held) && !slots.is_full()) {
    const std::optional<std::string> id = table_.queue(held).take_to_fetch(supply, fetching);
    if (!id) return;
    const JobPointer job = table_.find(held, *id);
    job->leave_queue(ActiveJob::Clock::now());
    table_.deadlines(held).set_fetch(*job);
    table_.change(held, job, {.state = JobState::kFetching});
    if (takes_at_hand(held, job)) continue;
    slots.take(job->tenant);
    pool_->run([this, job] { fetch(job); });
  }
}

// Saves a job that is on its way to the disk a change of threads, if its data set is in the cache.
bool Fetching::takes_at_hand(const TableLock& held, const JobPointer& job) {
  if (!source_.recall || !job->unsaved || schema::model_of(job->unsaved->task) ||
      engine::filters_rows(job->unsaved->select))
    return false;
  KEDGE_FAIL_POINT("job.fetch.before");
  const schema::JobSpec& spec = *job->unsaved;
  std::optional<AcquiredDataset> data =
      source_.recall(spec.dataset, {.tenant = job->tenant, .columns = engine::columns_read(spec.select)});
  if (!data) return false;
  KEDGE_FAIL_POINT("job.fetch.after");
  table_.observer().data_acquired(data->cold);
  job->spec = *job->unsaved, job->data = std::move(*data);
  running_.add(held, job);
  return true;
}

void Fetching::fetch(const JobPointer& job) {
  const auto emit = [this, job](schema::EventBody body) {
    const TableLock held = table_.lock();
    if (job->state == JobState::kFetching) table_.append(held, job, std::move(body));
  };
  try {
    std::optional<schema::JobSpec> spec = spec_of(job);
    KEDGE_FAIL_POINT("job.fetch.before");
    if (!spec) throw Error(ErrorCode::kInternal, fmt::format("the job store has lost the spec of {}", job->id));
    if (const std::string* model = schema::model_of(spec->task); model && source_.check_model)
      source_.check_model(*model);
    const DataCaller caller{.tenant = job->tenant, .trace = job->trace, .columns = engine::columns_read(spec->select)};
    AcquiredDataset data = source_.acquire(spec->dataset, emit, job->stop.get_token(), caller);
    if (engine::filters_rows(spec->select)) data = source_.filter(spec->select, std::move(data), job->stop.get_token());
    KEDGE_FAIL_POINT("job.fetch.after");
    fetched(job, std::move(*spec), std::move(data));
  } catch (...) {
    const engine::UsesReserve reserve;
    failed(job, current_data_error());
  }
}

// Empty: the store has lost it.
std::optional<schema::JobSpec> Fetching::spec_of(const JobPointer& job) const {
  std::shared_ptr<const schema::JobSpec> unsaved;
  {
    const TableLock held = table_.lock();
    unsaved = job->unsaved;
  }
  return unsaved ? std::optional(*unsaved) : store_.spec(job->id);
}

void Fetching::fetched(const JobPointer& job, schema::JobSpec spec, AcquiredDataset data) {
  const engine::UsesReserve reserve;
  const TableLock held = table_.lock();
  slots_of(*job).give_back(job->tenant);
  table_.observer().data_acquired(data.cold);
  if (!table_.is_stopping(held) && job->state == JobState::kFetching) {
    if (data.cold) {
      table_.append(held, job, schema::TimingEvent{.phase = "download", .seconds = data.download_seconds});
      table_.append(held, job, schema::TimingEvent{.phase = "parse", .seconds = data.parse_seconds});
    }
    job->spec = std::move(spec), job->data = std::move(data);
    running_.add(held, job);
  }
  start(held);
}

void Fetching::failed(const JobPointer& job, const Error& error) {
  const TableLock held = table_.lock();
  slots_of(*job).give_back(job->tenant);
  if (!table_.is_stopping(held) && job->state == JobState::kFetching) table_.fail(held, job, error);
  start(held);
}

void Fetching::request_stop() {
  std::vector<JobPointer> jobs;
  {
    const TableLock held = table_.lock();
    jobs = table_.jobs(held);
  }
  for (const JobPointer& job : jobs) job->stop.request_stop();   // without the lock: it calls the data set cache
}

}   // namespace kedge::server
