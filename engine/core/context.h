// What every fit and predict gets first: the device, the seed, the stop token, the progress sink. Nothing is global.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "engine/backend/backend.h"
#include "engine/core/work_cache.h"
#include "schemas/error.h"
#include "schemas/event.h"

namespace kedge::engine {

// Borrows the device for its own lifetime. Cheap to copy with another fold or seed.
struct Context {
  Device& device;
  std::uint64_t seed = 0;                                 // for estimators whose random_state is not set
  std::stop_token stop;
  std::function<void(schema::EventBody)> emit;            // may be empty; called on the thread that runs the job
  std::int64_t fold = -1;                                 // put into events
  WorkCache* work = nullptr;                              // what other candidates of a search left; null outside of searches

  Memory& memory() const { return device.memory(); }
  template <class T>
  Backend<T>& ops() const { return device.ops<T>(); }

  // Throws Error{kCancelled} once a stop was requested. Called once per iteration of every loop that can be long.
  void check_stop() const {
    if (stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
  }
  void progress(const char* phase, std::int64_t done, std::int64_t total, const char* unit) const {
    if (emit) emit(schema::ProgressEvent{phase, done, total, unit, fold});
  }
  void warn(std::string message) const {
    if (emit) emit(schema::LogEvent{"warning", std::move(message)});
  }
};

}  // namespace kedge::engine
