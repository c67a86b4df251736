// Counting, and the families in the order in which /metrics shows them.
#include "server/observe/metrics.h"

#include <chrono>

#include "server/observe/process.h"

namespace kedge::server::observe {
namespace {

// Tenants beyond are counted together, so that the number of series has a bound.
constexpr std::size_t kMostTenants = 200;
constexpr const char* kOtherTenants = "(others)";

void counters(Exposition& out, const std::string& label, const std::map<std::string, double>& values) {
  for (const auto& [value, count] : values) out.sample({{label, value}}, count);
}

}   // namespace

// A series that begins at its first event looks to Prometheus as if that had never happened, so known ones begin at 0.
Metrics::Metrics() {
  using enum WorkerEnd;
  for (const WorkerEnd end : {kSignal, kExit, kSilent, kCancelled, kNotStarted})
    worker_restarts_[std::string(worker_end_name(end))] = 0;
  for (const char* reason : {"slow_reader", "revoked", "shutdown"}) streams_dropped_[reason] = 0;
  for (const char* outcome : {"ok", "unchanged", "failed", "cancelled"}) download_bytes_[outcome] = 0;
  for (const char* outcome : {"succeeded", "cancelled"}) ended_[{outcome, ""}] = 0;
}

void Metrics::request(const http::RequestRecord& record) {
  const std::string route(record.route.empty() ? "none" : record.route);
  const std::string method(record.method.empty() ? "none" : record.method);
  const std::lock_guard lock(mutex_);
  ++requests_[{route, method, record.status}];
  durations_[route].add(std::chrono::duration<double>(record.took).count());
}

void Metrics::stream_dropped(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++streams_dropped_[std::string(reason)];
}

void Metrics::downloaded(std::string_view outcome, std::int64_t bytes, double seconds) {
  const std::lock_guard lock(mutex_);
  download_bytes_[std::string(outcome)] += static_cast<double>(bytes);
  downloads_.add(seconds);
}

void Metrics::job_submitted() {
  const std::lock_guard lock(mutex_);
  ++submitted_;
}

void Metrics::job_step(const JobStep& step) {
  if (!schema::is_final(step.state)) return;
  const std::lock_guard lock(mutex_);
  ++ended_[{std::string(schema::job_state_name(step.state)), std::string(step.reason)}];
  queued_.add(step.queued_seconds);
  total_.add(step.total_seconds);
}

void Metrics::job_ran(const schema::Timings& timings, double publish_seconds) {
  const std::lock_guard lock(mutex_);
  if (timings.cold) stages_["fetch"].add(timings.download), stages_["parse"].add(timings.parse);
  stages_["transfer"].add(timings.toDevice);
  stages_["fit"].add(timings.fit);
  stages_["predict"].add(timings.predict);
  stages_["score"].add(timings.score);
  stages_["publish"].add(publish_seconds);
}

void Metrics::device_used(std::string_view device, std::string_view tenant, double seconds) {
  const std::lock_guard lock(mutex_);
  device_seconds_[std::string(device)] += seconds;
  std::string who(tenant);
  if (tenant_seconds_.size() >= kMostTenants && !tenant_seconds_.contains(who)) who = kOtherTenants;
  tenant_seconds_[who] += seconds;
  if (device.starts_with("cuda")) gpu_seconds_[who] += seconds;
}

void Metrics::worker_lost(WorkerEnd end, bool ran_a_job) {
  const std::lock_guard lock(mutex_);
  ++worker_restarts_[std::string(worker_end_name(end))];
  if (ran_a_job) ++leases_expired_;
}

void Metrics::data_acquired(bool cold) {
  const std::lock_guard lock(mutex_);
  ++(cold ? cache_misses_ : cache_hits_);
}

void Metrics::store_committed(double seconds) {
  const std::lock_guard lock(mutex_);
  commits_.add(seconds);
}

void Metrics::add(Ask families) {
  const std::lock_guard lock(mutex_);
  asked_.push_back(std::move(families));
}

void Metrics::gauge(std::string name, std::string help, std::function<double()> value) {
  add([name = std::move(name), help = std::move(help), value = std::move(value)](Exposition& out) {
    out.family(name, "gauge", help);
    out.sample({}, value());
  });
}

void Metrics::set_tenant_weights(std::map<std::string, double> weights) {
  const std::lock_guard lock(mutex_);
  weights_ = std::move(weights);
}

void Metrics::set_build(Build build) {
  const std::lock_guard lock(mutex_);
  build_ = std::move(build);
}

void Metrics::append_requests(Exposition& out) const {
  out.family("kedge_http_requests_total", "counter", "Requests that were answered, by route, method and status.");
  for (const auto& [key, count] : requests_)
    out.sample({{"route", std::get<0>(key)}, {"method", std::get<1>(key)}, {"code", std::to_string(std::get<2>(key))}},
               static_cast<double>(count));
  out.family("kedge_http_request_duration_seconds", "histogram", "From the header block to the last byte of the answer.");
  for (const auto& [route, histogram] : durations_) out.histogram({{"route", route}}, histogram);
  out.family("kedge_event_stream_dropped_total", "counter",
             "Event streams that the server ended before their jobs did, by reason.");
  counters(out, "reason", streams_dropped_);
}

void Metrics::append_jobs(Exposition& out) const {
  out.family("kedge_jobs_submitted_total", "counter", "Jobs that were accepted.");
  out.sample({}, static_cast<double>(submitted_));
  out.family("kedge_jobs_finished_total", "counter", "Jobs that have ended, by outcome and reason.");
  for (const auto& [key, count] : ended_)
    out.sample({{"outcome", key.first}, {"reason", key.second}}, static_cast<double>(count));
  out.family("kedge_job_queue_seconds", "histogram", "Time that jobs waited for data and a device.");
  out.histogram({}, queued_);
  out.family("kedge_job_duration_seconds", "histogram", "Time from submission to the end of a job.");
  out.histogram({}, total_);
  out.family("kedge_job_run_seconds", "histogram", "Time that jobs which succeeded spent in each stage.");
  for (const auto& [stage, histogram] : stages_) out.histogram({{"stage", stage}}, histogram);
}

void Metrics::append_devices(Exposition& out, const std::optional<std::string>& tenant) const {
  out.family("kedge_device_busy_seconds_total", "counter", "Time that jobs held each device.");
  counters(out, "device", device_seconds_);
  const auto may_see = [&](const std::string& who) { return !tenant || *tenant == who; };
  out.family("kedge_tenant_busy_seconds_total", "counter",
             "Time that jobs of each tenant held devices; without admin scope only the caller's.");
  for (const auto& [who, seconds] : tenant_seconds_)
    if (may_see(who)) out.sample({{"tenant", who}}, seconds);
  out.family("kedge_tenant_weight", "gauge", "Share of the devices of each tenant that has used one, as configured.");
  for (const auto& [who, seconds] : tenant_seconds_)
    if (may_see(who) && who != kOtherTenants) out.sample({{"tenant", who}}, weights_.contains(who) ? weights_.at(who) : 1);
  out.family("kedge_gpu_busy_seconds_total", "counter",
             "Time that jobs of each tenant held GPUs; without admin scope only the caller's.");
  for (const auto& [who, seconds] : gpu_seconds_)
    if (may_see(who)) out.sample({{"tenant", who}}, seconds);
  out.family("kedge_worker_restarts_total", "counter", "Workers that ended and were replaced, by reason.");
  counters(out, "reason", worker_restarts_);
  out.family("kedge_leases_expired_total", "counter", "Runs that were taken from a worker because it had ended.");
  out.sample({}, static_cast<double>(leases_expired_));
}

void Metrics::append_data(Exposition& out) const {
  out.family("kedge_dataset_cache_hits_total", "counter", "Jobs whose data was there.");
  out.sample({}, static_cast<double>(cache_hits_));
  out.family("kedge_dataset_cache_misses_total", "counter", "Jobs whose data had to be downloaded or parsed.");
  out.sample({}, static_cast<double>(cache_misses_));
  out.family("kedge_download_bytes_total", "counter", "Bytes of downloaded data, decoded, by outcome of the download.");
  counters(out, "outcome", download_bytes_);
  out.family("kedge_download_duration_seconds", "histogram", "Time that downloads took, with their retries.");
  out.histogram({}, downloads_);
  out.family("kedge_store_commit_duration_seconds", "histogram",
             "Time of a transaction of the job store, with its writes to disk.");
  out.histogram({}, commits_);
}

std::string Metrics::text(const std::optional<std::string>& tenant) const {
  const std::lock_guard lock(mutex_);
  Exposition out;
  out.family("kedge_build_info", "gauge", "Version, commit and CUDA toolkit of this build; always 1.");
  out.sample({{"version", build_.version}, {"commit", build_.commit}, {"cuda", build_.cuda}}, 1);
  append_requests(out);
  append_jobs(out);
  append_devices(out, tenant);
  append_data(out);
  for (const Ask& ask : asked_) ask(out);
  append_process(out);
  return out.take();
}

}   // namespace kedge::server::observe
