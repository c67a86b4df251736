// A line of frames between kedge host-exec and kedge host-agent, which notices that the other side is gone.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "client/host/frames.h"
#include "crypto/tls_channel.h"

namespace kedge::host {

class Link {
 public:
  explicit Link(crypto::TlsChannel channel) : channel_(std::move(channel)) {}

  const crypto::TlsChannel& channel() const { return channel_; }
  void send(FrameKind kind, std::string_view bytes);   // queues; bytes of any length
  bool is_full() const;                                // much is queued, so nothing more should be
  // The next frame, after Errors of take_frame().
  std::optional<Frame> next() { return take_frame(channel_.received()); }
  // Moves what can be moved, and says from time to time that this side is there.
  void step();
  // Whether the other side closed the connection, or was silent for 15 s.
  bool is_cut() const;
  // Writes what is queued, for at most this time.
  void flush(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;

  crypto::TlsChannel channel_;
  Clock::time_point heard_ = Clock::now(), said_ = Clock::now();
};

}   // namespace kedge::host
