// The order in which jobs get their data and their worker: tenants share the devices, and each tenant's oldest job is its next.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/jobs/service_limits.h"

namespace kedge::server {

// What a job waits for, and for which tenant.
struct QueueKey {
  std::string wish;     // device
  std::string tenant;   // empty where there are no tokens
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

// What a job needs before it has its data.
enum class Supply {
  kLocal,     // a look at the disk, or text that came with the job
  kNetwork,   // an answer of another server, which may be slow
};

// Next is the tenant that has used the devices least, counted in seconds of runs over its weight (start-time fair queueing); among jobs of
// tenants that have used the same, the oldest. A tenant that comes back after a while starts level with the one that has used
// least, so absence saves nothing up. Job ids sort by time of submission, so the smallest id is the oldest job. Not thread safe.
class JobQueue {
 public:
  // So many jobs of one wish and tenant have their data ready ahead of a worker; more would only pin data sets.
  static constexpr std::size_t kReadyAhead = 4;

  void push(const std::string& job, const QueueKey& key, Supply supply = Supply::kLocal);   // waits for its data
  void push_ready(const std::string& job, const QueueKey& key);   // waits for a worker
  void remove(const std::string& job, const QueueKey& key);       // from either

  // Takes the next job that should get its data now, of the tenants that `may` get some more. Of those the one with the fewest `running` comes
  // first; the devices' order decides between equals.
  struct Fetching {
    std::function<bool(std::string_view tenant)> may;
    std::function<std::size_t(std::string_view tenant)> running;
  };
  std::optional<std::string> take_to_fetch(Supply supply, const Fetching& fetching);
  std::optional<std::string> take_to_fetch(Supply supply = Supply::kLocal);   // of any tenant
  // Takes the next ready job whose wish `serves` accepts.
  std::optional<std::string> take_ready(const std::function<bool(std::string_view wish)>& serves);
  // From now on; what was used stays as it was counted.
  void set_weights(TenantWeights weights) { weights_ = std::move(weights); }
  // A run of the tenant took so long.
  void charge(const std::string& tenant, double seconds);

  std::vector<std::string> wishes() const;                         // of the jobs that wait
  std::vector<std::string> jobs_of(const std::string& wish) const;

 private:
  struct Lane {
    std::set<std::string> waiting, remote, ready;   // remote: wait for data from the network
  };
  using Lanes = std::map<QueueKey, Lane>;
  using Jobs = std::set<std::string> Lane::*;
  Lane& lane(const QueueKey& key);
  // The next job among those of the lanes that `may`.
  std::optional<std::string> take(Jobs jobs, const std::function<bool(const QueueKey&, const Lane&)>& may,
                                  const std::function<std::size_t(std::string_view tenant)>& running = {});
  double used(const std::string& tenant) const;
  void drop_if_empty(Lanes::iterator lane);

  Lanes lanes_;
  TenantWeights weights_;
  std::map<std::string, double> used_;   // seconds over weight, by tenant: those that wait or were charged lately
  double level_ = 0;                     // what the tenant that was served last had used
};

}  // namespace kedge::server
