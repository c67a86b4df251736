// Ranks that are threads of a test.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/threads.h"
#include "schemas/error.h"

namespace kedge::engine {

// Runs the work on each rank's thread; what it returns, by rank. An error becomes its message.
inline std::vector<std::string> on_ranks(int size, const std::function<std::string(Comm&)>& work) {
  const auto comms = make_thread_comms(size);
  std::vector<std::string> results(comms.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < comms.size(); ++r) {
      threads.emplace_back([&, r] {
        try {
          results[r] = work(*comms[r]);
        } catch (const schema::Error& error) {
          results[r] = error.message;
        }
      });
    }
  }
  return results;
}

}   // namespace kedge::engine
