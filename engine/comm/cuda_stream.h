// A stream of work on one GPU and memory there, by the driver alone: what the communicator over NCCL needs of CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace kedge::engine {

// The driver's streams and memory are those of the CUDA runtime, in the device's primary context, so NCCL and kernels
// of the runtime take them. Resource. Made, used and destroyed by one thread.
class CudaStream {
 public:
  // `driver`: its library, libcuda.so.1. Errors: kDeviceUnavailable, when there is no driver or no such device.
  CudaStream(const std::string& driver, int device);
  ~CudaStream();   // waits for what is on the stream
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  std::string name() const;                 // of the device: "GPU-" and its 16 bytes in hexadecimal
  void* handle() const;                     // CUstream, the same as cudaStream_t
  std::byte* allocate(std::size_t bytes);   // on the device; freed with the object. Errors: kOutOfMemory
  // Copies in the order of the stream. The host's memory is not pinned, so the second waits within the driver for what
  // was on the stream before: call it when is_idle(). Errors: kInternal with the driver's words, as of is_idle().
  void to_device(std::byte* device, const void* host, std::size_t bytes);
  void to_host(void* host, const std::byte* device, std::size_t bytes);
  bool is_idle();   // everything on the stream has ended

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}   // namespace kedge::engine
