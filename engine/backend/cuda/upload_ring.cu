// See upload_ring.h.
#include "engine/backend/cuda/upload_ring.h"

#include <algorithm>
#include <cstring>

namespace kedge::engine {
namespace {

constexpr std::size_t kAlignment = 256;

}   // namespace

UploadRing::UploadRing(AsyncCopies& copies, const Size& size) : copies_(copies), size_(size), buffers_(size.buffers) {
  used_ = size_.bytes;   // the first upload turns to a buffer
}

UploadRing::~UploadRing() {
  for (const Buffer& buffer : buffers_)
    if (buffer.bytes) copies_.free_pinned(buffer.bytes);
}

bool UploadRing::turn() {
  if (buffers_[current_].bytes) {
    copies_.mark(current_);
    buffers_[current_].is_marked = true;
  }
  current_ = (current_ + 1) % buffers_.size();
  Buffer& next = buffers_[current_];
  if (next.is_marked) copies_.await(current_);
  next.is_marked = false;
  if (!next.bytes) next.bytes = static_cast<std::byte*>(copies_.allocate_pinned(size_.bytes));
  used_ = next.bytes ? 0 : size_.bytes;
  return next.bytes;
}

void UploadRing::start(std::byte* device, std::size_t bytes) {
  copies_.start(device, place(), bytes);
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void UploadRing::upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write) {
  const std::lock_guard lock(mutex_);
  const bool fits = used_ < size_.bytes && bytes <= size_.bytes - used_;
  if (!fits && !turn()) {
    std::vector<std::byte> unpinned(bytes);
    write(unpinned.data());
    return copies_.copy_now(device, unpinned.data(), bytes);
  }
  write(place());
  start(static_cast<std::byte*>(device), bytes);
}

void UploadRing::upload(void* device, const void* host, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* to = static_cast<std::byte*>(device);
  const auto* from = static_cast<const std::byte*>(host);
  while (bytes > 0) {
    if (used_ >= size_.bytes && !turn()) return copies_.copy_now(to, from, bytes);
    const std::size_t take = std::min(bytes, size_.bytes - used_);
    std::memcpy(place(), from, take);
    start(to, take);
    to += take, from += take, bytes -= take;
  }
}

}   // namespace kedge::engine
