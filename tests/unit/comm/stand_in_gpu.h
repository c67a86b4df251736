// A stand-in for libcuda.so.1 and libnccl.so.2, for ranks that are threads of one process: eight GPUs whose memory is
// the host's, streams that are threads, and NCCL's calls on them. It is stricter than the originals, so that a test
// fails where they might only hang: every call needs a context on its thread, NCCL takes the device's memory alone, and
// no call while another is in progress.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace kedge::stand_in {

// What goes wrong, and where; set by tests through the exported stand_in_set().
struct Fault {
  std::string what;   // see stand_in_nccl.cc and stand_in_cuda.cc
  int rank = -1;      // or the device
  int call = 0;       // which of its calls on a stream, from 0
};
Fault fault();
bool is_fault(const char* what, int rank);

// Work in order, on a thread of its own.
class Stream {
 public:
  Stream();
  ~Stream();   // when all work is done
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(std::function<void()> work);
  bool is_idle();
  void wait();

 private:
  void work_off(std::stop_token stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> work_;   // the first is being done
  std::jthread thread_;
};

bool is_device_memory(const void* pointer, std::size_t bytes);
bool has_context();   // this thread
int device_of_context();

}   // namespace kedge::stand_in
