// Files that are there whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace kedge::cli {

// Writes FILE.part, which becomes FILE with finish(); without it, as after an error, nothing is left. Errors:
// kUnavailable, with the system's words.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file, mode_t mode = 0666);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;

  std::FILE* stream() const { return stream_.get(); }
  void write(std::string_view text);
  void finish();   // also synced, so that a crash leaves the old file or the new one

 private:
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  [[noreturn]] void refuse() const;

  std::filesystem::path file_, part_;
  std::unique_ptr<std::FILE, Close> stream_;
};

}   // namespace kedge::cli
