// The pipe between kedged and a kedge-worker: length-prefixed Cap'n Proto messages on a stream socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <sys/types.h>

#include "schemas/worker.h"

namespace kedge::engine {

// One end of a socketpair. A frame is its length (unsigned, 32 bits, little endian) and that many bytes of schema::to_binary().
// Calls block, and finish or resume interrupted and partial transfers by themselves; a peer that is gone never raises SIGPIPE.
// Thread safety: any number of threads may send, hold and release; one thread may receive at the same time.
class WorkerChannel {
 public:
  static constexpr std::uint32_t kMaxMessageBytes = 64u << 20;
  enum class When { kNow, kWithNext };

  explicit WorkerChannel(int socket_fd) : fd_(socket_fd) {}   // owns the descriptor from here on
  ~WorkerChannel();
  WorkerChannel(const WorkerChannel&) = delete;
  WorkerChannel& operator=(const WorkerChannel&) = delete;

  // Message: schema::WorkerCommand or schema::WorkerReport. False when the peer is gone. Errors: kBodyTooLarge above
  // kMaxMessageBytes (nothing is sent then), kInternal with the system's words.
  // files: at most 16 open descriptors that the peer gets copies of (SCM_RIGHTS); the caller keeps its own.
  template <class Message>
  bool send(const Message& message, When when = When::kNow, std::span<const int> files = {});
  // The same of one that is encoded already, as schema::to_binary() does it.
  bool send_encoded(std::span<const std::byte> message, When when = When::kNow, std::span<const int> files = {});

  // From hold() on a message sent kWithNext waits for one sent kNow, or for release(), so that the peer wakes once for all of them; a release()
  // without anything that waits costs nothing. False when the peer is gone.
  void hold();
  bool release();

  // The next message; nullopt when the peer is gone, also in the middle of a message. Errors: kMalformed for a frame above
  // kMaxMessageBytes or bytes that do not decode; the channel is useless after the former.
  template <class Message>
  std::optional<Message> receive();

  // The first descriptor that came with a message and was not taken yet; the caller owns it. -1: there is none. Of the thread that receives.
  int take_file();

  // Whether receive() has one already, so that poll() need not say so. Of the thread that receives.
  bool has_message() const;

  // Ends both directions: a receive() that waits in another thread returns nullopt, and so does the peer's. Thread safe.
  void shutdown() noexcept;

  int fd() const { return fd_; }   // for poll()

 private:
  bool write_all(std::span<const std::byte> head, std::span<const std::byte> body, std::span<const int> files);
  bool write_held(std::span<const std::byte> body, std::span<const int> files = {});
  std::size_t unread() const { return end_ - begin_; }
  std::uint32_t announced() const;
  void make_room(std::size_t size);
  bool fill(std::size_t size);
  ssize_t read_some(std::byte* to, std::size_t size);
  void wait_for_bytes() const;

  int fd_;
  std::mutex send_mutex_;
  bool holds_ = false;                    // guarded by it, as is
  std::vector<std::byte> held_;           // frames that wait
  std::unique_ptr<std::byte[]> buffer_;   // of the thread that receives, as are the others
  std::size_t room_ = 0, begin_ = 0, end_ = 0;   // bytes of the buffer, and what of it was received and not yet taken
  std::deque<int> files_;   // received and not yet taken
};

}  // namespace kedge::engine
