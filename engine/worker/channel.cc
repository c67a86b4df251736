// The pipe between kedged and a kedge-worker: framing, partial transfers, and the end of the peer.
#include "engine/worker/channel.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kPrefixBytes = 4;
constexpr std::size_t kMostFiles = 16;   // with one message
constexpr std::size_t kFirst = 4;   // where the buffer begins, so that the words of the message behind the length are aligned
constexpr std::size_t kSpareRoom = 64 << 10, kKeptBytes = 512 << 10;   // of the buffer: for what comes together; from one message to the next

bool means_peer_is_gone(int error) { return error == EPIPE || error == ECONNRESET || error == ENOTCONN; }

[[noreturn]] void throw_system_error(const char* what, int error) {
  throw Error(ErrorCode::kInternal, fmt::format("worker channel: {}: {}", what, std::generic_category().message(error)));
}

// Room for the descriptors that come with a message, aligned as the system requires.
struct Ancillary {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMostFiles * sizeof(int))> room{};

  void attach(msghdr& message, std::span<const int> files) {
    message.msg_control = room.data(), message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
  }
};

}  // namespace

WorkerChannel::~WorkerChannel() {
  for (const int file : files_) ::close(file);
  ::close(fd_);
}

void WorkerChannel::shutdown() noexcept { ::shutdown(fd_, SHUT_RDWR); }

// The files go with the first byte, and so before any byte of a later message.
bool WorkerChannel::write_all(std::span<const std::byte> head, std::span<const std::byte> body, std::span<const int> files) {
  Ancillary ancillary;
  while (!head.empty() || !body.empty()) {
    std::array<iovec, 2> parts{{{const_cast<std::byte*>(head.data()), head.size()}, {const_cast<std::byte*>(body.data()), body.size()}}};
    msghdr message{};
    message.msg_iov = parts.data(), message.msg_iovlen = parts.size();
    if (!files.empty()) ancillary.attach(message, files);
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (means_peer_is_gone(errno)) return false;
      throw_system_error("sendmsg", errno);
    }
    files = {};
    const std::size_t of_head = std::min(head.size(), static_cast<std::size_t>(sent));
    head = head.subspan(of_head), body = body.subspan(static_cast<std::size_t>(sent) - of_head);
  }
  return true;
}

// The length that the first of the unread frames begins with.
std::uint32_t WorkerChannel::announced() const {
  std::uint32_t size = 0;
  for (std::size_t i = kPrefixBytes; i-- > 0;) size = size << 8 | std::to_integer<std::uint32_t>(buffer_[begin_ + i]);
  return size;
}

bool WorkerChannel::has_message() const {
  return unread() >= kPrefixBytes && (announced() > kMaxMessageBytes || unread() - kPrefixBytes >= announced());
}

// For `size` bytes from the first that is unread.
void WorkerChannel::make_room(std::size_t size) {
  if (begin_ + size <= room_) return;
  if (kFirst + size > room_) {
    const std::size_t room = kFirst + size + kSpareRoom;
    auto larger = std::make_unique_for_overwrite<std::byte[]>(room);
    std::copy(buffer_.get() + begin_, buffer_.get() + end_, larger.get() + kFirst);
    buffer_ = std::move(larger), room_ = room;
  } else {
    std::memmove(buffer_.get() + kFirst, buffer_.get() + begin_, unread());
  }
  end_ = kFirst + unread(), begin_ = kFirst;
}

// Not by recv(), which wakes also when the peer takes what was sent to it.
void WorkerChannel::wait_for_bytes() const {
  pollfd polled{.fd = fd_, .events = POLLIN};
  if (::poll(&polled, 1, -1) < 0 && errno != EINTR) throw_system_error("poll", errno);
}

// As recv() without waiting; descriptors that come along are kept for take_file().
ssize_t WorkerChannel::read_some(std::byte* to, std::size_t size) {
  Ancillary ancillary;
  iovec part{to, size};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  message.msg_control = ancillary.room.data(), message.msg_controllen = ancillary.room.size();
  const ssize_t received = ::recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0) return received;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::array<int, kMostFiles> files{};
    const std::size_t bytes = std::min(head->cmsg_len - CMSG_LEN(0), sizeof files);
    std::memcpy(files.data(), CMSG_DATA(head), bytes);
    files_.insert(files_.end(), files.begin(), files.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(int)));
  }
  return received;
}

int WorkerChannel::take_file() {
  if (files_.empty()) return -1;
  const int file = files_.front();
  files_.pop_front();
  return file;
}

// Waits until so many bytes are unread. False when the peer has closed.
bool WorkerChannel::fill(std::size_t size) {
  if (unread() >= size) return true;
  make_room(size);
  while (unread() < size) {
    const ssize_t received = read_some(buffer_.get() + end_, room_ - end_);
    if (received == 0) return false;
    if (received < 0) {
      const int error = errno;
      if (error == EAGAIN) wait_for_bytes();
      if (error == EAGAIN || error == EINTR) continue;
      if (means_peer_is_gone(error)) return false;
      throw_system_error("recv", error);
    }
    end_ += static_cast<std::size_t>(received);
  }
  return true;
}

// What waits, and the body of its last frame.
bool WorkerChannel::write_held(std::span<const std::byte> body, std::span<const int> files) {
  const std::vector<std::byte> head = std::exchange(held_, {});   // also if this fails
  return write_all(head, body, files);
}

void WorkerChannel::hold() {
  const std::lock_guard lock(send_mutex_);
  holds_ = true;
}

bool WorkerChannel::release() {
  const std::lock_guard lock(send_mutex_);
  holds_ = false;
  return held_.empty() || write_held({});
}

bool WorkerChannel::send_encoded(std::span<const std::byte> message, When when, std::span<const int> files) {
  const std::lock_guard lock(send_mutex_);
  const bool waits = holds_ && when == When::kWithNext && files.empty();
  held_.reserve(held_.size() + kPrefixBytes + (waits ? message.size() : 0));   // nothing is half done where memory ends
  for (std::size_t i = 0; i < kPrefixBytes; ++i) held_.push_back(std::byte(message.size() >> 8 * i & 255));
  if (!waits) return write_held(message, files);   // one call: the reader wakes once
  held_.insert(held_.end(), message.begin(), message.end());
  return true;
}

template <class Message>
constexpr const char* kWhatIsLarge = "the job has";
template <>
constexpr const char* kWhatIsLarge<schema::WorkerReport> = "the result has";

template <class Message>
bool WorkerChannel::send(const Message& message, When when, std::span<const int> files) {
  const std::vector<std::byte> bytes = schema::to_binary(message);
  if (bytes.size() > kMaxMessageBytes) {
    throw Error(ErrorCode::kBodyTooLarge, fmt::format("{} {} bytes, at most {} pass between server and worker",
                                                      kWhatIsLarge<Message>, bytes.size(), kMaxMessageBytes));
  }
  return send_encoded(bytes, when, files);
}

template <class Message>
std::optional<Message> WorkerChannel::receive() {
  if (!fill(kPrefixBytes)) return std::nullopt;
  const std::size_t size = announced();
  if (size > kMaxMessageBytes) {
    throw Error(ErrorCode::kMalformed,
                fmt::format("worker channel: a frame announces {} bytes, at most {} are allowed", size, kMaxMessageBytes));
  }
  if (!fill(kPrefixBytes + size)) return std::nullopt;
  const std::span body(buffer_.get() + begin_ + kPrefixBytes, size);
  begin_ += kPrefixBytes + size;   // first: bytes that do not decode are done with, too
  if (begin_ == end_) begin_ = end_ = kFirst;
  auto message = std::make_optional(schema::from_binary<Message>(body));
  if (room_ > kKeptBytes && unread() == 0) buffer_.reset(), room_ = begin_ = end_ = 0;
  return message;
}

template bool WorkerChannel::send(const schema::WorkerCommand&, When, std::span<const int>);
template bool WorkerChannel::send(const schema::WorkerReport&, When, std::span<const int>);
template std::optional<schema::WorkerCommand> WorkerChannel::receive();
template std::optional<schema::WorkerReport> WorkerChannel::receive();

}  // namespace kedge::engine
