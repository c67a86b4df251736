// The life of every job that has not ended: see dispatcher.h.
#include "server/jobs/dispatcher.h"

#include <stop_token>
#include <utility>

namespace kedge::server {

using schema::JobState;

Dispatcher::Dispatcher(Store& store, DispatcherOptions options)
    : table_(store, table_options(options)),
      publishing_(table_, *options.files, *options.models, options.bytes),
      running_(table_, publishing_, *options.files, [this](const TableLock& held) { fetching_.start(held); }),
      fetching_(store, table_, running_, std::move(options.data)),
      admission_(store, table_, fetching_, running_, *options.files) {
  set_limits(options.tenants, options.deadlines);
  const TableLock held = table_.lock();   // a worker that is quick waits until start() has returned
  admission_.recover(held);
  running_.start(held, options.workers, options.devices);
}

Dispatcher::~Dispatcher() {
  table_.begin_stop(table_.lock());
  fetching_.request_stop();
  running_.stop();
  fetching_.stop();
  table_.close();
}

JobTableOptions Dispatcher::table_options(const DispatcherOptions& options) {
  return {.ended = options.ended,
          .model_stored = [models = options.models](const NewModel& model) { models->stored(model); },
          .deadline_reached = [this](const std::string& id) { deadline_reached(id); },
          .observer = options.observer};
}

void Dispatcher::deadline_reached(const std::string& id) {
  std::stop_source fetch(std::nostopstate);
  {
    const TableLock held = table_.lock();
    const JobPointer job = table_.find(held, id);
    if (!job || table_.is_stopping(held) || schema::is_final(job->state) || !JobDeadlines::has_passed(*job)) return;
    if (job->state == JobState::kRunning) return running_.fail_late(held, job);
    fetch = job->stop;
    table_.fail(held, job, JobDeadlines::error(*job));
  }
  fetch.request_stop();   // not under the lock: what it calls is the data set cache's
}

void Dispatcher::set_limits(const TenantLimits& tenants, const schema::Deadlines& deadlines) {
  const TableLock held = table_.lock();
  admission_.set_limit(held, tenants.open_jobs);
  fetching_.set_limit(held, tenants.fetches);
  table_.queue(held).set_weights(tenants.weights);
  table_.deadlines(held).set_limits(deadlines);
}

void Dispatcher::begin_drain() {
  table_.begin_drain(table_.lock());
}

bool Dispatcher::draining() const {
  return !table_.starts_work(table_.lock());
}

void Dispatcher::drain(std::chrono::milliseconds patience) {
  begin_drain();
  running_.wait_until_idle(patience);
}

bool Dispatcher::is_open(std::string_view id) const {
  return table_.find(table_.lock(), id) != nullptr;
}

std::vector<schema::DeviceEntry> Dispatcher::devices() const {
  return running_.devices(table_.lock());
}

Load Dispatcher::load() const {
  Load load;
  const TableLock held = table_.lock();
  table_.count(held, load);
  running_.count(held, load);
  return load;
}

std::string Dispatcher::missing_reason(std::string_view wish) const {
  return running_.missing_reason(table_.lock(), wish);
}

}   // namespace kedge::server
