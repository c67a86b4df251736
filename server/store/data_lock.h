// The lock that keeps a second server out of a data directory.
#pragma once

#include <filesystem>

namespace kedge::server {

// Held for as long as this value lives and the process runs; the system releases it when the process dies, however it dies.
class DataLock {
 public:
  // Creates the directory if need be. Errors: kUnavailable, naming the process that holds the lock.
  explicit DataLock(const std::filesystem::path& directory);
  ~DataLock();
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace kedge::server
