// See recording.h.
#include "engine/backend/emulated/recording.h"

#include <fmt/core.h>

#include <cstring>

#include "engine/backend/emulated/observer.h"
#include "schemas/error.h"

namespace kedge::engine::emulated {
namespace {

constexpr int kRubbish = 0xFF;   // NaN in both widths

// The stream's work goes to `work` while it lives.
class Diverted {
 public:
  Diverted(Emulator& emulator, Emulator::Recording& work) : emulator_(emulator) { emulator.recording = &work; }
  ~Diverted() { emulator_.recording = nullptr; }
  Diverted(const Diverted&) = delete;
  Diverted& operator=(const Diverted&) = delete;

 private:
  Emulator& emulator_;
};

}   // namespace

Recording::~Recording() {
  for (const auto& [block, bytes] : blocks_)
    if (!held_.contains(block)) emulator_.memory.deallocate(block);   // else something still has it
}

void Recording::keep(const std::function<void()>& ops) {
  emulator_.refuse_in_recording("another recording");
  {
    const Diverted diverted(emulator_, work_);
    ops();
  }
  const auto refuse = [](const std::string& what) {
    throw schema::Error(schema::ErrorCode::kInternal, "emulated GPU: a recording " + what);
  };
  if (!held_.empty()) refuse(fmt::format("keeps {} blocks of memory, must give back all", held_.size()));
  if (gave_back_others_) refuse("gave back memory that it did not allocate");
}

void Recording::run() {
  emulator_.refuse_in_recording("another recording");
  if (observer) observer->recording_begins();
  for (const auto& work : work_) work();
  if (observer) observer->recording_ends();
}

void Recording::put_rubbish(void* p, std::size_t bytes) {
  work_.push_back([&memory = emulator_.memory, p, bytes] {
    const DeviceAccess access(memory);
    std::memset(p, kRubbish, bytes);
  });
}

void* Recording::allocate(std::size_t bytes) {
  void* const p = emulator_.memory.allocate(bytes);
  blocks_[p] = bytes, held_.insert(p);
  put_rubbish(p, bytes);
  return p;
}

void Recording::deallocate(void* p) noexcept {
  if (held_.erase(p) > 0) return put_rubbish(p, blocks_[p]);
  gave_back_others_ = true;
  emulator_.memory.deallocate(p);
}

}   // namespace kedge::engine::emulated
