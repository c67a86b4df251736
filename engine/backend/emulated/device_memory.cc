// Blocks of device memory in one protected region, first fit.
#include "engine/backend/emulated/device_memory.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>

#include "engine/backend/emulated/host_watch.h"
#include "schemas/error.h"

namespace kedge::engine::emulated {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kProtected = false;
#else
constexpr bool kProtected = true;
#endif
constexpr std::size_t kAlignment = 256, kPage = 4096;
constexpr int kRubbish = 0xFF;   // NaN in both widths, so that a read of memory that was never written shows

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

[[noreturn]] void refuse(std::size_t bytes) {
  throw schema::Error(schema::ErrorCode::kOutOfMemory, fmt::format("emulated GPU: no memory for {} bytes", bytes));
}

std::size_t sum_of(const std::map<std::size_t, std::size_t>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const auto& block) { return sum + block.second; });
}

// In the stream's order. One without pinned bytes fills a block that was given back.
template <class Writes>
void finish(Writes& writes) noexcept {
  for (const auto& write : writes) {
    if (write.pinned) std::memcpy(write.device, write.pinned, write.bytes);
    std::memset(write.pinned ? write.pinned : write.device, kRubbish, write.bytes);
  }
  writes.clear();
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t limit_bytes) : limit_(limit_bytes) {
  if (!kProtected) return;
  void* p = mmap(nullptr, kRegionBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) refuse(kRegionBytes);
  region_ = static_cast<char*>(p);
}

DeviceMemory::~DeviceMemory() {
  if (kProtected) munmap(region_, kRegionBytes);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  if (before_allocate) before_allocate(bytes);
  void* p = nullptr;
  if (kProtected) return region_ + take(bytes, false);   // was filled when it was taken from the system, or given back
  if (posix_memalign(&p, kAlignment, std::max<std::size_t>(bytes, 1)) != 0) refuse(bytes);
  std::memset(p, kRubbish, bytes);
  return p;
}

void* DeviceMemory::allocate_linked(std::size_t bytes) {
  if (kProtected) return region_ + take(bytes, true);
  return allocate(bytes);
}

void DeviceMemory::deallocate(void* p) noexcept {
  if (kProtected) return give_back(static_cast<std::size_t>(static_cast<char*>(p) - region_));
  const DeviceAccess access(*this);
  std::free(p);
}

std::size_t DeviceMemory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return sum_of(taken_);
}
std::size_t DeviceMemory::linked_bytes() const {
  const std::lock_guard lock(mutex_);
  return sum_of(linked_);
}
std::size_t DeviceMemory::own_bytes() const {
  const std::lock_guard lock(mutex_);
  return own_;
}
std::size_t DeviceMemory::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

std::size_t DeviceMemory::take(std::size_t bytes, bool is_linked) {
  if (bytes > kRegionBytes) refuse(bytes);
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const std::lock_guard lock(mutex_);
  if (!is_linked && limit_ > 0 && size > limit_ - own_) refuse(bytes);
  const auto fit = std::ranges::find_if(free_, [&](const auto& block) { return block.second >= size; });
  std::size_t at = used_, rest = 0;
  if (fit != free_.end()) {
    at = fit->first, rest = fit->second - size;
    free_.erase(fit);
  } else {
    const std::size_t end = round_up(used_ + size, kPage);
    if (end > kRegionBytes) refuse(bytes);
    rest = end - used_ - size;
    if (kProtected && mprotect(region_ + used_, end - used_, PROT_READ | PROT_WRITE) != 0) std::abort();
    std::memset(region_ + used_, kRubbish, end - used_);
    if (open_ == 0) mprotect(region_ + used_, end - used_, PROT_NONE);
    used_ = end;
  }
  taken_[at] = size;
  if (is_linked) linked_[at] = size;
  else own_ += size, peak_ = std::max(peak_, own_);
  if (rest > 0) free_[at + size] = rest;
  return at;
}

void DeviceMemory::give_back(std::size_t at) noexcept {
  const std::lock_guard lock(mutex_);
  const auto block = taken_.extract(at);
  if (linked_.erase(at) == 0) own_ -= block.mapped();
  const auto next = free_.lower_bound(at);
  std::size_t size = block.mapped();
  // Filled when the memory is opened next: nothing can read it until then, and opening it for each block that goes
  // takes a tenth of a test's time. While it is open, the block may be given out and written without being opened
  // again.
  late_copies_.push_back({region_ + at, nullptr, size});
  if (open_ > 0) finish(late_copies_);
  if (next != free_.end() && next->first == at + size) size += next->second, free_.erase(next);
  const auto after = free_.lower_bound(at);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == at) {
      before->second += size;
      return;
    }
  }
  free_[at] = size;
}

void DeviceMemory::copy_late(void* device, void* pinned, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  late_copies_.push_back({device, pinned, bytes});
}

void DeviceMemory::open() {
  if (host_watch) host_watch->enters();
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
  finish(late_copies_);
}

void DeviceMemory::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) protect(PROT_NONE);
  }
  if (host_watch) host_watch->leaves();
}

void DeviceMemory::protect(int access) const noexcept {
  if (kProtected && used_ > 0 && mprotect(region_, used_, access) != 0) std::abort();
}

}  // namespace kedge::engine::emulated
