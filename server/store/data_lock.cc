// The lock that keeps a second server out of a data directory: see data_lock.h.
#include "server/store/data_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

std::string holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size() - 1, 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "unknown";
}

}  // namespace

DataLock::DataLock(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::filesystem::path file = directory / "kedge.lock";
  fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0)
    throw schema::Error(schema::ErrorCode::kUnavailable, fmt::format("cannot use the data directory {}: {}", directory.string(),
                                                                     std::generic_category().message(errno)));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && !KEDGE_CONTROL("share-data-directory")) {
    const std::string text = fmt::format("the data directory {} is in use by another kedged (process {})",
                                         directory.string(), holder(fd_));
    ::close(fd_);
    throw schema::Error(schema::ErrorCode::kUnavailable, text);
  }
  const std::string pid = std::to_string(::getpid());
  // The number is only for the message above, so a full disk does not matter here.
  if (::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, pid.data(), pid.size(), 0) < 0) errno = 0;
}

DataLock::~DataLock() { ::close(fd_); }

}  // namespace kedge::server
