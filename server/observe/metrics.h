// What the server counts, and its text for GET /metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "server/http/observer.h"
#include "server/jobs/job_observer.h"
#include "server/observe/exposition.h"

namespace kedge::server::observe {

struct Build {
  std::string version, commit, cuda;   // cuda: the toolkit of the kernels; "none" without
};

// Thread safe. No label carries a job, a user's text or a path as it was requested, so that the number of series is
// bounded.
class Metrics : public JobObserver {
 public:
  Metrics();
  void request(const http::RequestRecord& record);
  void stream_dropped(std::string_view reason);   // an event stream that the server ended: see http::ServerOptions
  // The body of a download has come, or not: outcome "ok", "unchanged", "failed" or "cancelled".
  void downloaded(std::string_view outcome, std::int64_t bytes, double seconds);

  void job_submitted() override;
  void job_step(const JobStep& step) override;
  void job_ran(const schema::Timings& timings, double publish_seconds) override;
  void device_used(std::string_view device, std::string_view tenant, double seconds) override;
  void worker_lost(WorkerEnd end, bool ran_a_job) override;
  void data_acquired(bool cold) override;
  void store_committed(double seconds) override;

  // Families that are computed at each scrape, in the order in which they were added.
  using Ask = std::function<void(Exposition&)>;
  void add(Ask families);
  void gauge(std::string name, std::string help, std::function<double()> value);
  void set_tenant_weights(
      std::map<std::string, double> weights);   // shares of the devices; 1 for a tenant that is not named
  void set_build(Build build);

  // Figures of single tenants are written for `tenant` alone; unset: of all.
  std::string text(const std::optional<std::string>& tenant = {}) const;

 private:
  void append_requests(Exposition& out) const;
  void append_jobs(Exposition& out) const;
  void append_devices(Exposition& out, const std::optional<std::string>& tenant) const;
  void append_data(Exposition& out) const;

  using Counter = std::map<std::string, double>;   // by its label's value

  mutable std::mutex mutex_;                                                      // guards what follows
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_;   // route, method, status
  std::map<std::string, Histogram> durations_;                                    // by route
  Counter streams_dropped_;
  std::uint64_t submitted_ = 0, leases_expired_ = 0, cache_hits_ = 0, cache_misses_ = 0;
  std::map<std::pair<std::string, std::string>, std::uint64_t> ended_;
  Histogram queued_, total_, commits_, downloads_;
  std::map<std::string, Histogram> stages_;
  Counter device_seconds_, tenant_seconds_, gpu_seconds_;   // by device; by tenant; of GPUs by tenant
  Counter weights_;                                         // that are not 1, by tenant
  Counter worker_restarts_, download_bytes_;
  std::vector<Ask> asked_;
  Build build_;
};

}   // namespace kedge::server::observe
