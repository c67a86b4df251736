// The pipe between kedged and a kedge-worker: framing, partial transfers, and the end of the peer.
#include "engine/worker/channel.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kKeptBytes = 512 << 10;   // of the buffer, from one message to the next

bool means_peer_is_gone(int error) { return error == EPIPE || error == ECONNRESET || error == ENOTCONN; }

[[noreturn]] void throw_system_error(const char* what, int error) {
  throw Error(ErrorCode::kInternal, fmt::format("worker channel: {}: {}", what, std::generic_category().message(error)));
}

}  // namespace

WorkerChannel::~WorkerChannel() { ::close(fd_); }

void WorkerChannel::shutdown() noexcept { ::shutdown(fd_, SHUT_RDWR); }

bool WorkerChannel::write_all(std::span<const std::byte> head, std::span<const std::byte> body) {
  while (!head.empty() || !body.empty()) {
    std::array<iovec, 2> parts{{{const_cast<std::byte*>(head.data()), head.size()}, {const_cast<std::byte*>(body.data()), body.size()}}};
    msghdr message{};
    message.msg_iov = parts.data(), message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (means_peer_is_gone(errno)) return false;
      throw_system_error("sendmsg", errno);
    }
    const std::size_t of_head = std::min(head.size(), static_cast<std::size_t>(sent));
    head = head.subspan(of_head), body = body.subspan(static_cast<std::size_t>(sent) - of_head);
  }
  return true;
}

bool WorkerChannel::read_all(std::byte* data, std::size_t size) {
  while (size > 0) {
    const ssize_t received = ::recv(fd_, data, size, 0);
    if (received == 0) return false;
    if (received < 0) {
      if (errno == EINTR) continue;
      if (means_peer_is_gone(errno)) return false;
      throw_system_error("recv", errno);
    }
    data += received, size -= static_cast<std::size_t>(received);
  }
  return true;
}

template <class Message>
constexpr const char* kWhatIsLarge = "the job has";
template <>
constexpr const char* kWhatIsLarge<schema::WorkerReport> = "the result has";

template <class Message>
bool WorkerChannel::send(const Message& message) {
  const std::vector<std::byte> frame = schema::to_binary(message);
  if (frame.size() > kMaxMessageBytes) {
    throw Error(ErrorCode::kBodyTooLarge, fmt::format("{} {} bytes, at most {} pass between server and worker",
                                                      kWhatIsLarge<Message>, frame.size(), kMaxMessageBytes));
  }
  const auto size = static_cast<std::uint32_t>(frame.size());
  const std::array<std::byte, 4> prefix{std::byte(size & 255), std::byte(size >> 8 & 255), std::byte(size >> 16 & 255),
                                        std::byte(size >> 24)};
  const std::lock_guard lock(send_mutex_);
  return write_all(prefix, frame);   // one call: the reader wakes once
}

template <class Message>
std::optional<Message> WorkerChannel::receive() {
  std::array<std::byte, 4> prefix;
  if (!read_all(prefix.data(), prefix.size())) return std::nullopt;
  std::uint32_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | std::to_integer<std::uint32_t>(prefix[static_cast<std::size_t>(i)]);
  if (size > kMaxMessageBytes) {
    throw Error(ErrorCode::kMalformed,
                fmt::format("worker channel: a frame announces {} bytes, at most {} are allowed", size, kMaxMessageBytes));
  }
  if (size > room_) {
    buffer_.reset();
    room_ = 0;   // should there be no memory for more
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(size);
    room_ = size;
  }
  if (!read_all(buffer_.get(), size)) return std::nullopt;
  auto message = std::make_optional(schema::from_binary<Message>({buffer_.get(), size}));
  if (room_ > kKeptBytes) buffer_.reset(), room_ = 0;
  return message;
}

template bool WorkerChannel::send(const schema::WorkerCommand&);
template bool WorkerChannel::send(const schema::WorkerReport&);
template std::optional<schema::WorkerCommand> WorkerChannel::receive();
template std::optional<schema::WorkerReport> WorkerChannel::receive();

}  // namespace kedge::engine
