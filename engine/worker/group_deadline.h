// How long the ranks of a group may take for what they do together.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "engine/worker/rank_lines.h"

namespace kedge::engine {

// Ends the process, unless it goes out of scope in time: calls of MPI wait for ever.
class GroupDeadline {
 public:
  GroupDeadline(std::chrono::seconds limit, std::string what)
      : watch_([limit, what = std::move(what)](std::stop_token stop) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock lock(mutex);
          if (!wake.wait_for(lock, stop, limit, [&] { return stop.stop_requested(); }))
            leave_group(fmt::format("{} within {} s", what, limit.count()).c_str());
        }) {}

 private:
  std::jthread watch_;
};

}   // namespace kedge::engine
