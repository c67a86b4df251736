// Several workers for questions to stored models, so that a long answer of one model does not hold up the others.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/models/ask_worker.h"

namespace kedge::server {

// Thread safe. Questions to one model go to one worker, which has it loaded and asks what waits for it together; a
// model that no worker has goes to the one with the fewest. The limits of what waits are those of all workers together.
// Each process starts with its first question.
class AskPool {
 public:
  AskPool(const WorkerProgram& program, const AskLimits& limits);

  // As AskWorker::ask().
  std::shared_ptr<void> ask(AskWorker::Place place, std::function<schema::AskCommand()> question,
                            AskWorker::Answered answered);

 private:
  AskWorker& worker_of(const std::string& model);

  std::mutex mutex_;                                         // guards the next
  std::deque<std::pair<std::string, std::size_t>> places_;   // of models, the last asked first
  std::vector<std::unique_ptr<AskWorker>> workers_;
};

}   // namespace kedge::server
