// Messages between kedged and kedge-arrow: a head of fixed size, then the body.
#include "engine/arrow/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kedge::engine {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;   // of a body: the names and categories of a table

struct Head {
  std::uint64_t says = 0, bytes = 0;
};

bool send_bytes(int socket, const void* from, std::size_t size) {
  const char* p = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t sent = ::send(socket, p, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    p += sent, size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// The space of one descriptor in a message.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

bool send_head(int socket, Head head, int file) {
  iovec part{.iov_base = &head, .iov_len = sizeof head};
  msghdr message{};
  message.msg_iov = &part, message.msg_iovlen = 1;
  Control control;
  if (file >= 0) {
    message.msg_control = control.bytes.data(), message.msg_controllen = control.bytes.size();
    cmsghdr* const first = CMSG_FIRSTHDR(&message);
    first->cmsg_level = SOL_SOCKET, first->cmsg_type = SCM_RIGHTS, first->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(first), &file, sizeof file);
  }
  ssize_t sent = -1;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof head);
}

}   // namespace

bool ArrowChannel::send(ArrowSays says, std::string_view body, int file) {
  return send_head(socket_, {static_cast<std::uint64_t>(says), body.size()}, file) &&
         send_bytes(socket_, body.data(), body.size());
}

bool ArrowChannel::receive_bytes(void* to, std::size_t size, int* file) {
  char* p = static_cast<char*>(to);
  while (size > 0) {
    iovec part{.iov_base = p, .iov_len = size};
    Control control;
    msghdr message{};
    message.msg_iov = &part, message.msg_iovlen = 1;
    if (file) message.msg_control = control.bytes.data(), message.msg_controllen = control.bytes.size();
    const ssize_t came = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (came < 0 && errno == EINTR) continue;
    if (came <= 0) return false;
    const cmsghdr* const first = file ? CMSG_FIRSTHDR(&message) : nullptr;
    if (first && first->cmsg_type == SCM_RIGHTS) std::memcpy(file, CMSG_DATA(first), sizeof *file);
    p += came, size -= static_cast<std::size_t>(came);
  }
  return true;
}

bool ArrowChannel::receive(ArrowMessage& message) {
  Head head;
  message.file = -1;
  if (!receive_bytes(&head, sizeof head, &message.file)) return false;
  const bool makes_sense = head.says <= static_cast<std::uint64_t>(ArrowSays::kRefused) && head.bytes <= kMostBytes;
  if (!makes_sense) return false;
  message.says = static_cast<ArrowSays>(head.says);
  message.body.resize(head.bytes);
  return receive_bytes(message.body.data(), message.body.size(), nullptr);
}

}   // namespace kedge::engine
