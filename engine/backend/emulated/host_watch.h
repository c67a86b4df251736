// How a program tells the host's own work from what the emulator does in a GPU's place.
#pragma once

namespace kedge::engine::emulated {

class HostWatch {
 public:
  virtual ~HostWatch() = default;
  // The host begins, and ends, something that a GPU or its driver would do. Nests.
  virtual void enters() = 0;
  virtual void leaves() = 0;
};

inline HostWatch* host_watch = nullptr;   // set by programs that watch

// Between these two the emulator works in the GPU's place.
class InPlaceOfGpu {
 public:
  InPlaceOfGpu() {
    if (host_watch) host_watch->enters();
  }
  ~InPlaceOfGpu() {
    if (host_watch) host_watch->leaves();
  }
  InPlaceOfGpu(const InPlaceOfGpu&) = delete;
  InPlaceOfGpu& operator=(const InPlaceOfGpu&) = delete;
};

}   // namespace kedge::engine::emulated
