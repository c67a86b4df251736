// Uploads through a ring of pinned buffers, which own the bytes until the GPU has read them: the caller's memory is
// free at once.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace kedge::engine {

// What a ring needs of a GPU: memory that it reads by itself, and copies that end some time later, in order. Bodies:
// native/runtime.cc and emulated/runtime.cc.
class AsyncCopies {
 public:
  virtual ~AsyncCopies() = default;
  virtual void* allocate_pinned(std::size_t bytes) = 0;   // null where there is none
  virtual void free_pinned(void* p) noexcept = 0;
  virtual void start(void* device, const void* pinned, std::size_t bytes) = 0;
  virtual void mark(
      std::size_t buffer) = 0;   // remembers, for this buffer of a ring, the copies that were started so far
  virtual void await(std::size_t buffer) = 0;   // until those that mark() remembered have ended
  virtual void copy_now(void* device, const void* host,
                        std::size_t bytes) = 0;   // from any memory; returns when the bytes were read
};

// Resource; borrows the copies. Safe to use from several threads. Buffers are allocated when they are first needed;
// where none can be had each upload waits for its copy.
class UploadRing {
 public:
  struct Size {
    std::size_t buffers = 4,
                bytes = std::size_t{4}
                        << 20;   // of each; at least 2 buffers, so that filling one and copying another overlap
  };
  UploadRing(AsyncCopies& copies, const Size& size);
  explicit UploadRing(AsyncCopies& copies) : UploadRing(copies, Size()) {}
  ~UploadRing();   // after the last copy has ended
  UploadRing(const UploadRing&) = delete;
  UploadRing& operator=(const UploadRing&) = delete;

  // Returns when `host` was read. The device has the bytes before anything that is started later.
  void upload(void* device, const void* host, std::size_t bytes);
  // The same for at most Size::bytes bytes that `write` writes into a buffer of the ring. It must not upload itself.
  void upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write);
  std::size_t buffer_bytes() const { return size_.bytes; }

 private:
  struct Buffer {
    std::byte* bytes = nullptr;
    bool is_marked = false;
  };
  bool turn();   // to the next buffer, when its copies have ended; false where there is no memory
  std::byte* place() { return buffers_[current_].bytes + used_; }
  void start(std::byte* device, std::size_t bytes);   // copies from place(), which moves on

  AsyncCopies& copies_;
  const Size size_;
  std::mutex mutex_;   // guards all below
  std::vector<Buffer> buffers_;
  std::size_t current_ = 0, used_ = 0;
};

}   // namespace kedge::engine
