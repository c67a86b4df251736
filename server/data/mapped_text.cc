// A text file mapped read-only, for the parsers.
#include "server/data/mapped_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/core/disk_error.h"
#include "engine/core/require.h"

namespace kedge::server {

MappedText::MappedText(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const bool opened = fd >= 0 && ::fstat(fd, &status) == 0;
  void* address = nullptr;
  if (opened && status.st_size > 0)
    address = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  engine::require(opened && address != MAP_FAILED, schema::ErrorCode::kInternal, "{}: cannot be mapped: {}", engine::shown(path),
                  std::strerror(error));
  data_ = static_cast<const char*>(address);
  size_ = static_cast<std::size_t>(status.st_size);
}

MappedText::~MappedText() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace kedge::server
