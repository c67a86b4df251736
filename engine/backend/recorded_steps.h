// Ops that a device starts together: a loop with the same ops each time puts them on the device's order of work once,
// and from then on starts all of them by one call.
#pragma once

#include <functional>
#include <memory>

#include "engine/backend/backend.h"

namespace kedge::engine {

// Borrows the device, and every array that its ops read or write.
class RecordedSteps {
 public:
  virtual ~RecordedSteps() = default;
  // Does the ops once more, behind everything that was started before. What the host gave them (numbers, sizes, places)
  // is as it was when they were recorded; what they read from the device's memory is as it is now. Errors: kInternal.
  virtual void run() = 0;
};

// What a device has beside Device where the start of an op costs much beside a small op.
class StepRecorder {
 public:
  virtual ~StepRecorder() = default;
  // Calls `ops` once. What it starts on this device is not done, but kept. It must not wait for the device, upload or
  // fetch, and must give back what it allocates; and it should have run before, so that libraries have what they need.
  // Null where no recording could be made: the caller goes on as without one. Errors: those of `ops`; kInternal on the
  // emulated GPU for what a recording cannot have.
  virtual std::unique_ptr<RecordedSteps> record(const std::function<void()>& ops) = 0;
};

// Null for a device that starts ops one by one.
inline StepRecorder* step_recorder(Device& device) {
  return dynamic_cast<StepRecorder*>(&device);
}

}   // namespace kedge::engine
