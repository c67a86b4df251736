// Server-sent events of one job, taken up again by themselves when the connection breaks.
#include <fmt/core.h>

#include <chrono>
#include <thread>

#include "client/sdk/transport.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct EventStream::Impl {
  static constexpr milliseconds kFirstPause{50}, kLongestPause{2000}, kPatience{60'000};

  std::shared_ptr<Transport> transport;   // shared with the session and its jobs
  std::string job_id;
  std::int64_t after;
  std::unique_ptr<Transport::Lines> lines;
  bool ended = false;

  // The data of the next frame; nullopt when the connection ended.
  std::optional<std::string> read_frame() {
    std::string data;
    while (auto line = lines->next_line()) {
      if (line->empty() && !data.empty()) return data;
      if (line->starts_with("data:")) data += line->substr(line->starts_with("data: ") ? 6 : 5);
    }
    return std::nullopt;
  }

  std::optional<schema::Event> read_event() {
    if (!lines) {
      const std::string last = after > 0 ? std::to_string(after) : std::string();
      lines = std::make_unique<Transport::Lines>(*transport, "/v1/jobs/" + job_id + "/events", last);
    }
    while (auto data = read_frame()) {
      auto event = schema::from_json<schema::Event>(*data);
      if (event.id <= after) continue;
      after = event.id;
      const auto* state = std::get_if<schema::StateEvent>(&event.body);
      ended = state && is_final(state->state);
      return event;
    }
    return std::nullopt;
  }
};

EventStream::EventStream(std::shared_ptr<Transport> transport, std::string job_id, std::int64_t after)
    : impl_(new Impl{std::move(transport), std::move(job_id), after, nullptr, false}) {}
EventStream::EventStream(EventStream&&) noexcept = default;
EventStream::~EventStream() = default;

std::optional<schema::Event> EventStream::next() {
  if (impl_->ended) return std::nullopt;
  const auto give_up = steady_clock::now() + Impl::kPatience;
  for (milliseconds pause = Impl::kFirstPause;; pause = std::min(2 * pause, Impl::kLongestPause)) {
    if (auto event = impl_->read_event()) return event;
    impl_->lines.reset();
    if (steady_clock::now() + pause > give_up)
      throw Error(schema::ErrorCode::kConnection, fmt::format("{}: the event stream broke and the server did not come back within {} s",
                                                              impl_->transport->url(), Impl::kPatience.count() / 1000));
    std::this_thread::sleep_for(pause);
  }
}

EventStream::Iterator& EventStream::Iterator::operator++() {
  if (auto event = stream_->next()) event_ = *std::move(event);
  else stream_ = nullptr;
  return *this;
}

}  // namespace kedge
