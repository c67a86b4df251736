// Server-sent events of one job, taken up again by themselves when the connection breaks.
#include <fmt/core.h>

#include <chrono>

#include "client/sdk/backoff.h"
#include "client/sdk/event_frames.h"
#include "client/sdk/path.h"
#include "client/sdk/transport.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct EventStream::Impl {
  static constexpr milliseconds kPatience{60'000};

  std::shared_ptr<Transport> transport;   // shared with the session and its jobs
  std::string job_id;
  std::int64_t after;
  std::unique_ptr<Transport::Stream> stream;
  EventFrames frames;   // of this stream
  bool ended = false;
  std::stop_token stop;

  // The data of the next frame; nullopt when the connection ended. What the server says of itself is passed over.
  std::optional<std::string> read_frame() {
    while (true) {
      while (auto frame = frames.next())
        if (frame->event != "shutdown") return std::move(frame->data);
      const auto bytes = stream->read();
      if (!bytes) return std::nullopt;
      frames.put(*bytes);
    }
  }

  std::optional<schema::Event> read_event() {
    if (!stream) {
      const std::string last = after > 0 ? std::to_string(after) : std::string();
      frames = {};
      stream = std::make_unique<Transport::Stream>(*transport, "/v1/jobs/" + escaped(job_id) + "/events", last, stop);
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

EventStream::EventStream(std::shared_ptr<Transport> transport, std::string job_id, std::int64_t after, std::stop_token stop)
    : impl_(new Impl{std::move(transport), std::move(job_id), after, nullptr, {}, false, std::move(stop)}) {}
EventStream::EventStream(EventStream&&) noexcept = default;
EventStream::~EventStream() = default;

std::optional<schema::Event> EventStream::next() {
  if (impl_->ended) return std::nullopt;
  Patience patience(Impl::kPatience);
  for (Backoff backoff;;) {
    const auto begun = steady_clock::now();
    try {
      if (auto event = impl_->read_event()) return event;
    } catch (const Error& error) {   // a server that starts, stops or is busy
      if (error.code != schema::ErrorCode::kUnavailable && error.code != schema::ErrorCode::kTooManyRequests) throw;
    }
    const auto now = steady_clock::now();
    impl_->stream.reset();
    const milliseconds pause = backoff.next();
    if (impl_->stop.stop_requested() || !Backoff::sleep(pause, impl_->stop))
      throw Error(schema::ErrorCode::kCancelled, "the event stream was stopped by its reader");
    if (patience.ended(begun, now))
      throw Error(schema::ErrorCode::kConnection,
                  fmt::format("{}: the event stream broke and the server did not come back within {} s", impl_->transport->url(),
                              Impl::kPatience.count() / 1000));
  }
}

EventStream::Iterator& EventStream::Iterator::operator++() {
  if (auto event = stream_->next()) event_ = *std::move(event);
  else stream_ = nullptr;
  return *this;
}

}  // namespace kedge
