// Writing to files: whole pieces at a place, or from front to back past the page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>

#include "schemas/error.h"

namespace kedge::engine {

// Why a file could not be written, by errno: disk_error(), "write predictions.npy: No space left on device".
schema::Error write_failure(const std::filesystem::path& path, int error);

// All of it, at `offset`. Errors: disk_error() of the system's, naming `path`.
void write_all(int fd, std::span<const std::byte> bytes, std::int64_t offset, const std::filesystem::path& path);

// Lets the system begin to write a range to disk: the pages that are wholly in it, because a thread that fills the rest
// of a page would wait for the disk. A hint: fsync waits for what is not written by then, and reports failures.
void start_write_back(int fd, std::int64_t offset, std::int64_t bytes);

// Writes a file from front to back. What is long and is read later, if at all, goes
// straight to the disk: the copy to the page cache, page by page, would cost more than the rest, and push out what
// other programs have there. File systems that cannot do that get it as usual. One thread at a time.
class SequentialFile {
 public:
  // fd: stays the caller's, as does the rest of the file. offset: a multiple of 4096.
  SequentialFile(int fd, std::int64_t offset, bool past_page_cache, std::filesystem::path path);
  void write(std::span<const std::byte> bytes);   // errors: those of write_all()
  void finish();                                  // writes what is still here; fsync is the caller's

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  void flush();
  bool set_direct(bool on);

  int fd_;
  std::int64_t offset_;
  std::filesystem::path path_;
  bool direct_;
  std::unique_ptr<std::byte[], Free> block_;   // at an address that the disk can read from
  std::size_t filled_ = 0;                     // bytes of it
};

}   // namespace kedge::engine
