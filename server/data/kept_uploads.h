// The folder in which unfinished uploads outlast the server: for each a file of its bytes as they came, and a small one
// that says what they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kedge::server {

// What an earlier run has left of an upload.
struct KeptUpload {
  std::string tenant, name, format;   // tenant: its tenant_key()
  std::uint64_t announced = 0, bytes = 0;
  std::chrono::system_clock::time_point last;   // when bytes came
  std::filesystem::path file;                   // of the bytes
};

// Not thread safe by itself: an upload has its files alone.
class KeptUploads {
 public:
  // Makes the folder. Files that are no whole pair, or of another kind, are removed by read_all().
  explicit KeptUploads(std::filesystem::path folder);

  // Oldest first.
  std::vector<KeptUpload> read_all() const;

  // Where the bytes of an upload go, once its entry is on the disk: a file that no other upload has. Errors:
  // kStorageFull.
  std::filesystem::path begin(const KeptUpload& upload) const;
  // The file and its entry.
  static void remove(const std::filesystem::path& bytes) noexcept;

 private:
  const std::filesystem::path folder_;
};

}   // namespace kedge::server
