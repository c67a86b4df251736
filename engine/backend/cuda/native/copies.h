// AsyncCopies on one CUDA stream.
#pragma once

#include <vector>

#include "engine/backend/cuda/native/check.h"
#include "engine/backend/cuda/upload_ring.h"

namespace kedge::engine {

// The driver knows from the addresses where both sides lie: a table may be linked (engine/backend/linked_tables.h).
inline constexpr cudaMemcpyKind kByAddress = cudaMemcpyDefault;

// Resource; borrows the stream.
class StreamCopies final : public AsyncCopies {
 public:
  explicit StreamCopies(const cudaStream_t& stream) : stream_(stream) {}
  ~StreamCopies() override {
    for (const cudaEvent_t event : events_)
      if (event) cudaEventDestroy(event);
  }

  void* allocate_pinned(std::size_t bytes) override {
    void* p = nullptr;
    if (cudaHostAlloc(&p, bytes, cudaHostAllocDefault) == cudaSuccess) return p;
    cudaGetLastError();   // no reason to fail: uploads then wait
    return nullptr;
  }
  void free_pinned(void* p) noexcept override { static_cast<void>(cudaFreeHost(p)); }
  void start(void* device, const void* pinned, std::size_t bytes) override {
    KEDGE_CHECK(cudaMemcpyAsync(device, pinned, bytes, kByAddress, stream_));
  }
  void mark(std::size_t buffer) override {
    if (events_.size() <= buffer) events_.resize(buffer + 1);
    if (!events_[buffer]) KEDGE_CHECK(cudaEventCreateWithFlags(&events_[buffer], cudaEventDisableTiming));
    KEDGE_CHECK(cudaEventRecord(events_[buffer], stream_));
  }
  void await(std::size_t buffer) override { KEDGE_CHECK(cudaEventSynchronize(events_[buffer])); }
  void copy_now(void* device, const void* host, std::size_t bytes) override {
    KEDGE_CHECK(cudaMemcpyAsync(device, host, bytes, kByAddress, stream_));
    KEDGE_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  const cudaStream_t& stream_;
  std::vector<cudaEvent_t> events_;   // by buffer
};

}   // namespace kedge::engine
