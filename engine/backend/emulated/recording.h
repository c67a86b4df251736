// Recorded steps on the emulator: the launches, library calls and copies that were put on the stream, with the
// arguments that they had then.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "engine/backend/emulated/emulator.h"
#include "engine/backend/recorded_steps.h"

namespace kedge::engine::emulated {

// Borrows the emulator. While keep() runs, the stream's work goes into it. As strict as the capture of a CUDA stream:
// memory may be allocated, but is given back within, and only the recording's own.
class Recording final : public RecordedSteps {
 public:
  explicit Recording(Emulator& emulator) : emulator_(emulator) {}
  ~Recording() override;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Errors: those of `ops`; kInternal for what a recording cannot have.
  void keep(const std::function<void()>& ops);
  void run() override;

  // Within keep(). Each run finds rubbish there, and leaves it.
  void* allocate(std::size_t bytes);
  void deallocate(void* p) noexcept;

 private:
  void put_rubbish(void* p, std::size_t bytes);

  Emulator& emulator_;
  Emulator::Recording work_;
  std::unordered_map<void*, std::size_t> blocks_;   // all that were allocated, with their bytes
  std::unordered_set<void*> held_;                  // of these, not given back
  bool gave_back_others_ = false;
};

}   // namespace kedge::engine::emulated
