// Hands pieces of a stream to a consumer in another thread, so that receiving and checksumming overlap.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/data/spare_texts.h"

namespace kedge::server {

// push() copies; it waits while too many pieces are in the queue. An exception of the consumer comes out of the next push() or
// of finish(). Destroyed without finish(), it drops what is still queued. One thread may push.
class BackgroundSink {
 public:
  using Consumer = std::function<void(std::string_view)>;

  explicit BackgroundSink(
      Consumer consume);   // called on the other thread only, until finish() returns or the sink is destroyed
  ~BackgroundSink();
  void push(std::string_view piece);
  void finish();

 private:
  void run();

  Consumer consume_;
  std::mutex mutex_;
  std::condition_variable changed_;
  SpareTexts spare_;
  std::deque<std::string> queue_;   // this and the next are guarded by mutex_
  bool closed_ = false, dropped_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace kedge::server
