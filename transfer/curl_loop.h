// Performs transfers of libcurl handles so that a stop request ends them at once.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "transfer/curl_handle.h"

namespace kedge::transfer {

// Holds the connections, which the next transfer uses again. A resource of one thread, except for wake(). Errors:
// kInternal if libcurl has no memory.
class Loop {
 public:
  using Step = std::function<void(bool has_ended)>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Performs the transfer to its end; nothing if `stop` was requested before. `step` is called after each piece of
  // work, at least every `longest_wait`, and ends the transfer by an exception.
  std::optional<CURLcode> finish(Handle& handle, const std::stop_token& stop, std::chrono::milliseconds longest_wait,
                                 const Step& step = {});

  // The same piece by piece, for callers that read in between. The handle lives until end() or longer than the loop.
  void begin(Handle& handle);
  std::optional<CURLcode> step();   // what can be done without waiting; how the transfer ended, once it has
  void wait(std::chrono::milliseconds longest);
  void wake();   // ends a wait(); from any thread
  void end();

 private:
  struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  CURL* begun_ = nullptr;
};

}   // namespace kedge::transfer
