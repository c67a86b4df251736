// Writing to files: whole pieces at a place, or from front to back past the page cache.
#include "engine/core/file_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {
constexpr std::int64_t kPage = 4096;
constexpr std::size_t kBlock = std::size_t{1} << 20;   // one write: long enough for a disk, short enough for many at once
}   // namespace

schema::Error write_failure(const std::filesystem::path& path, int error) {
  return schema::Error(disk_error(error),
                       fmt::format("write {}: {}", shown(path), std::generic_category().message(error)));
}

void write_all(int fd, std::span<const std::byte> bytes, std::int64_t offset, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    require(n > 0, disk_error(n < 0 ? errno : ENOSPC), "{}: write failed: {}", shown(path),
            std::strerror(n < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<std::size_t>(n)), offset += n;
  }
}

void start_write_back(int fd, std::int64_t offset, std::int64_t bytes) {
  const std::int64_t begin = (offset + kPage - 1) / kPage * kPage, end = (offset + bytes) / kPage * kPage;
  if (end > begin) ::sync_file_range(fd, begin, end - begin, SYNC_FILE_RANGE_WRITE);
}

SequentialFile::SequentialFile(int fd, std::int64_t offset, bool past_page_cache, std::filesystem::path path)
    : fd_(fd),
      offset_(offset),
      path_(std::move(path)),
      direct_(past_page_cache && set_direct(true)),
      block_(static_cast<std::byte*>(std::aligned_alloc(kPage, kBlock))) {
  if (!block_) throw std::bad_alloc();
}

bool SequentialFile::set_direct(bool on) {
  const int flags = ::fcntl(fd_, F_GETFL);
  return flags >= 0 && ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

void SequentialFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kBlock - filled_);
    std::copy_n(bytes.data(), n, block_.get() + filled_);
    bytes = bytes.subspan(n);
    filled_ += n;
    if (filled_ == kBlock) flush();
  }
}

void SequentialFile::flush() {
  std::span<const std::byte> bytes(block_.get(), std::exchange(filled_, 0));
  if (direct_) {   // the first try: what it leaves is no longer aligned, or this file system does not like it
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), offset_);
    const std::size_t written = n > 0 ? static_cast<std::size_t>(n) : 0;
    offset_ += static_cast<std::int64_t>(written);
    bytes = bytes.subspan(written);
    if (bytes.empty()) return;
    set_direct(direct_ = false);
  }
  write_all(fd_, bytes, offset_, path_);
  start_write_back(fd_, offset_, static_cast<std::int64_t>(bytes.size()));
  offset_ += static_cast<std::int64_t>(bytes.size());
}

void SequentialFile::finish() {
  if (direct_) set_direct(direct_ = false);   // the last block need not be whole
  flush();
}

}   // namespace kedge::engine
