// The order of jobs: see queue.h.
#include "server/jobs/queue.h"

namespace kedge::server {

void JobQueue::push(const std::string& job, const std::string& wish) { lanes_[wish].waiting.insert(job); }

void JobQueue::push_ready(const std::string& job, const std::string& wish) { lanes_[wish].ready.insert(job); }

void JobQueue::remove(const std::string& job, const std::string& wish) {
  const auto lane = lanes_.find(wish);
  if (lane == lanes_.end()) return;
  lane->second.waiting.erase(job);
  lane->second.ready.erase(job);
  drop_if_empty(lane);
}

std::optional<std::string> JobQueue::take_to_fetch() {
  auto best = lanes_.end();
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    if (lane->second.waiting.empty() || lane->second.ready.size() >= kReadyAhead) continue;
    if (best == lanes_.end() || *lane->second.waiting.begin() < *best->second.waiting.begin()) best = lane;
  }
  if (best == lanes_.end()) return std::nullopt;
  std::string job = std::move(best->second.waiting.extract(best->second.waiting.begin()).value());
  drop_if_empty(best);
  return job;
}

std::optional<std::string> JobQueue::take_ready(const std::function<bool(std::string_view)>& serves) {
  auto best = lanes_.end();
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    if (lane->second.ready.empty()) continue;
    if (best != lanes_.end() && *best->second.ready.begin() < *lane->second.ready.begin()) continue;
    if (serves(lane->first)) best = lane;
  }
  if (best == lanes_.end()) return std::nullopt;
  std::string job = std::move(best->second.ready.extract(best->second.ready.begin()).value());
  drop_if_empty(best);
  return job;
}

std::vector<std::string> JobQueue::wishes() const {
  std::vector<std::string> names;
  for (const auto& [wish, lane] : lanes_) names.push_back(wish);
  return names;
}

std::vector<std::string> JobQueue::jobs_of(const std::string& wish) const {
  std::vector<std::string> jobs;
  if (const auto lane = lanes_.find(wish); lane != lanes_.end()) {
    jobs.assign(lane->second.ready.begin(), lane->second.ready.end());
    jobs.insert(jobs.end(), lane->second.waiting.begin(), lane->second.waiting.end());
  }
  return jobs;
}

void JobQueue::drop_if_empty(std::map<std::string, Lane>::iterator lane) {
  if (lane->second.waiting.empty() && lane->second.ready.empty()) lanes_.erase(lane);
}

}  // namespace kedge::server
