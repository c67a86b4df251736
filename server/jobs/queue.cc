// The order of jobs: see queue.h.
#include "server/jobs/queue.h"

#include <algorithm>
#include <tuple>

#include "engine/faults/fail_point.h"

namespace kedge::server {
namespace {

// What a run counts before it has been measured, so that a tenant with short runs does not start all of its jobs at once.
constexpr double kStartSeconds = 0.001;

}  // namespace

JobQueue::Lane& JobQueue::lane(const QueueKey& key) {
  const bool waits = std::ranges::any_of(lanes_, [&](const auto& entry) { return entry.first.tenant == key.tenant; });
  if (!waits) {
    double& mine = used_[key.tenant];
    mine = std::max(mine, level_);
  }
  return lanes_[key];
}

void JobQueue::push(const std::string& job, const QueueKey& key, Supply supply) {
  Lane& mine = lane(key);
  (supply == Supply::kNetwork ? mine.remote : mine.waiting).insert(job);
}

void JobQueue::push_ready(const std::string& job, const QueueKey& key) { lane(key).ready.insert(job); }

void JobQueue::remove(const std::string& job, const QueueKey& key) {
  const auto lane = lanes_.find(key);
  if (lane == lanes_.end()) return;
  lane->second.waiting.erase(job);
  lane->second.remote.erase(job);
  lane->second.ready.erase(job);
  drop_if_empty(lane);
}

double JobQueue::used(const std::string& tenant) const {
  const auto found = used_.find(tenant);
  return found == used_.end() ? 0 : found->second;
}

std::optional<std::string> JobQueue::take(Jobs jobs, const std::function<bool(const QueueKey&, const Lane&)>& may,
                                          const std::function<std::size_t(std::string_view)>& running) {
  auto best = lanes_.end();
  const auto rank = [&](Lanes::iterator lane) {
    const std::string& tenant = lane->first.tenant;
    const double used_so_far = KEDGE_CONTROL("ignore-shares") ? 0 : used(tenant);
    return std::tuple<std::size_t, double, const std::string&>(running ? running(tenant) : 0, used_so_far, *(lane->second.*jobs).begin());
  };
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    if ((lane->second.*jobs).empty() || !may(lane->first, lane->second)) continue;
    if (best == lanes_.end() || rank(lane) < rank(best)) best = lane;
  }
  if (best == lanes_.end()) return std::nullopt;
  auto& chosen = best->second.*jobs;
  std::string job = std::move(chosen.extract(chosen.begin()).value());
  if (jobs == &Lane::ready) {
    level_ = std::max(level_, used(best->first.tenant));
    charge(best->first.tenant, kStartSeconds);
  }
  drop_if_empty(best);
  return job;
}

std::optional<std::string> JobQueue::take_to_fetch(Supply supply, const Fetching& fetching) {
  const auto may = [&](const QueueKey& key, const Lane& lane) { return lane.ready.size() < kReadyAhead && fetching.may(key.tenant); };
  return take(supply == Supply::kNetwork ? &Lane::remote : &Lane::waiting, may, fetching.running);
}

std::optional<std::string> JobQueue::take_to_fetch(Supply supply) {
  return take_to_fetch(supply, {.may = [](std::string_view) { return true; }, .running = {}});
}

std::optional<std::string> JobQueue::take_ready(const std::function<bool(std::string_view)>& serves) {
  return take(&Lane::ready, [&](const QueueKey& key, const Lane&) { return serves(key.wish); });
}

void JobQueue::charge(const std::string& tenant, double seconds) {
  const auto weight = weights_.find(tenant);
  used_[tenant] += weight == weights_.end() || KEDGE_CONTROL("ignore-weights") ? seconds : seconds / weight->second;
  // A tenant that has used no more than the level and does not wait would start at the level anyway.
  std::erase_if(used_, [&](const auto& entry) {
    return entry.second <= level_ &&
           std::ranges::none_of(lanes_, [&](const auto& lane) { return lane.first.tenant == entry.first; });
  });
}

std::vector<std::string> JobQueue::wishes() const {
  std::vector<std::string> names;
  for (const auto& [key, lane] : lanes_)
    if (names.empty() || names.back() != key.wish) names.push_back(key.wish);
  return names;
}

std::vector<std::string> JobQueue::jobs_of(const std::string& wish) const {
  std::vector<std::string> jobs;
  for (const auto& [key, lane] : lanes_) {
    if (key.wish != wish) continue;
    jobs.insert(jobs.end(), lane.ready.begin(), lane.ready.end());
    jobs.insert(jobs.end(), lane.waiting.begin(), lane.waiting.end());
    jobs.insert(jobs.end(), lane.remote.begin(), lane.remote.end());
  }
  return jobs;
}

void JobQueue::drop_if_empty(Lanes::iterator lane) {
  if (lane->second.waiting.empty() && lane->second.remote.empty() && lane->second.ready.empty()) lanes_.erase(lane);
}

}  // namespace kedge::server
