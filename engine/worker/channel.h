// The pipe between kedged and a kedge-worker: length-prefixed Cap'n Proto messages on a stream socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "schemas/worker.h"

namespace kedge::engine {

// One end of a socketpair. A frame is its length (unsigned, 32 bits, little endian) and that many bytes of schema::to_binary().
// Calls block, and finish or resume interrupted and partial transfers by themselves; a peer that is gone never raises SIGPIPE.
// Thread safety: any number of threads may send; one thread may receive at the same time.
class WorkerChannel {
 public:
  static constexpr std::uint32_t kMaxMessageBytes = 64u << 20;

  explicit WorkerChannel(int socket_fd) : fd_(socket_fd) {}   // owns the descriptor from here on
  ~WorkerChannel();
  WorkerChannel(const WorkerChannel&) = delete;
  WorkerChannel& operator=(const WorkerChannel&) = delete;

  // Message: schema::WorkerCommand or schema::WorkerReport. False when the peer is gone. Errors: kBodyTooLarge above
  // kMaxMessageBytes (nothing is sent then), kInternal with the system's words.
  template <class Message>
  bool send(const Message& message);

  // The next message; nullopt when the peer is gone, also in the middle of a message. Errors: kMalformed for a frame above
  // kMaxMessageBytes or bytes that do not decode; the channel is useless after the former.
  template <class Message>
  std::optional<Message> receive();

  // Ends both directions: a receive() that waits in another thread returns nullopt, and so does the peer's. Thread safe.
  void shutdown() noexcept;

  int fd() const { return fd_; }   // for poll()

 private:
  bool write_all(std::span<const std::byte> head, std::span<const std::byte> body);
  bool read_all(std::byte* data, std::size_t size);

  int fd_;
  std::mutex send_mutex_;
  std::unique_ptr<std::byte[]> buffer_;   // of the thread that receives
  std::size_t room_ = 0;                  // bytes in it
};

}  // namespace kedge::engine
