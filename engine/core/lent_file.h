// Files that another process has opened for this one, by names that can go where paths go.
#pragma once

#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace kedge::engine {

inline constexpr std::string_view kLentPrefix = "/proc/self/fd/";

// The name of an open file that was lent to this process.
inline std::string lent_path(int fd) { return std::string(kLentPrefix) + std::to_string(fd); }

// As open(path, O_RDONLY). A lent file is duplicated instead: a confined process may read what it was lent, and open nothing anew.
inline int open_to_read(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (name.starts_with(kLentPrefix)) return ::fcntl(std::atoi(name.c_str() + kLentPrefix.size()), F_DUPFD_CLOEXEC, 0);
  return ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace kedge::engine
