// Beats and silence.
#include "client/host/link.h"

#include <poll.h>

#include <algorithm>

namespace kedge::host {
namespace {

constexpr std::chrono::seconds kBeat{1}, kSilence{15};
constexpr std::size_t kMostQueued = std::size_t{1} << 20;

}   // namespace

void Link::send(FrameKind kind, std::string_view bytes) {
  do {
    channel_.send(encoded(kind, bytes.substr(0, kMostFrameBytes)));
    bytes.remove_prefix(std::min(bytes.size(), kMostFrameBytes));
  } while (!bytes.empty());
}

bool Link::is_full() const {
  return channel_.queued() > kMostQueued;
}

void Link::step() {
  const std::size_t before = channel_.received().size();
  channel_.step();
  const auto now = Clock::now();
  if (channel_.received().size() > before) heard_ = now;
  if (!channel_.is_ready() || now - said_ < kBeat || is_full()) return;
  send(FrameKind::kBeat, {});
  said_ = now;
}

bool Link::is_cut() const {
  return channel_.has_ended() || Clock::now() - heard_ > kSilence;
}

void Link::flush(std::chrono::milliseconds limit) {
  const auto until = Clock::now() + limit;
  for (channel_.step(); channel_.queued() > 0 && !channel_.has_ended() && Clock::now() < until; channel_.step()) {
    pollfd wait{.fd = channel_.fd(), .events = POLLOUT, .revents = 0};
    ::poll(&wait, 1, 100);
  }
}

}   // namespace kedge::host
