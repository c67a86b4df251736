// Deals models to workers.
#include "server/models/ask_pool.h"

#include <algorithm>

namespace kedge::server {

AskPool::AskPool(const WorkerProgram& program, const AskLimits& limits) {
  const auto room = std::make_shared<AskRoom>(limits.per_tenant, limits.total);
  for (std::size_t i = 0; i < std::max<std::size_t>(limits.workers, 1); ++i)
    workers_.push_back(std::make_unique<AskWorker>(program, limits, room));
}

std::shared_ptr<void> AskPool::ask(AskWorker::Place place, std::function<schema::AskCommand()> question,
                                   AskWorker::Answered answered) {
  AskWorker& worker = worker_of(place.model);
  return worker.ask(std::move(place), std::move(question), std::move(answered));
}

AskWorker& AskPool::worker_of(const std::string& model) {
  if (model.empty()) return *workers_.back();   // a file to be loaded, which no worker has
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(places_, model, &std::pair<std::string, std::size_t>::first);
  std::size_t worker = 0;
  if (found != places_.end()) {
    worker = found->second;
    places_.erase(found);
  } else {
    std::vector<std::size_t> models(workers_.size());
    for (const auto& [name, at] : places_) ++models[at];
    worker = static_cast<std::size_t>(std::ranges::min_element(models) - models.begin());
  }
  places_.emplace_front(model, worker);
  if (places_.size() > AskWorker::kModelsKept * workers_.size()) places_.pop_back();
  return *workers_[worker];
}

}   // namespace kedge::server
