// The loop around libcurl's multi interface, which can be woken up, unlike curl_easy_perform().
#include "transfer/curl_loop.h"

#include <utility>

#include "schemas/error.h"

namespace kedge::transfer {

Loop::Loop() : multi_(curl_multi_init()) {
  if (!multi_) throw schema::Error(schema::ErrorCode::kInternal, "libcurl has no memory");
}

Loop::~Loop() {
  end();
}

std::optional<CURLcode> Loop::finish(Handle& handle, const std::stop_token& stop,
                                     std::chrono::milliseconds longest_wait, const Step& on_step) {
  struct End {
    Loop& loop;
    ~End() { loop.end(); }
  };
  begin(handle);
  const End at_exit{*this};
  const std::stop_callback on_stop(stop, [this] { wake(); });
  while (!stop.stop_requested()) {
    const std::optional<CURLcode> outcome = step();
    if (on_step) on_step(outcome.has_value());
    if (outcome) return outcome;
    wait(longest_wait);
  }
  return std::nullopt;
}

void Loop::begin(Handle& handle) {
  begun_ = handle.get();
  curl_multi_add_handle(multi_.get(), begun_);
}

std::optional<CURLcode> Loop::step() {
  int running = 0, queued = 0;
  curl_multi_perform(multi_.get(), &running);
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &queued))
    if (message->msg == CURLMSG_DONE) return message->data.result;
  if (running == 0) return CURLE_FAILED_INIT;
  return std::nullopt;
}

void Loop::wait(std::chrono::milliseconds longest) {
  curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(longest.count()), nullptr);
}

void Loop::wake() {
  curl_multi_wakeup(multi_.get());
}

void Loop::end() {
  if (CURL* handle = std::exchange(begun_, nullptr)) curl_multi_remove_handle(multi_.get(), handle);
}

}   // namespace kedge::transfer
