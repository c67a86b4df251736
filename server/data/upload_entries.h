// The small JSON files that say what was uploaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kedge::server {

struct UploadInfo {
  std::string name;     // empty for the data of a job
  std::string format;   // "csv", "arff", "libsvm", "npy", "npz", "parquet" or "arrow"
  std::string digest;   // SHA-256 of the format, a line feed and the bytes as sent: what a job's reference is pinned to
  std::int64_t bytes = 0, rows = 0, columns = 0;
  std::string created;  // RFC 3339
  friend bool operator==(const UploadInfo&, const UploadInfo&) = default;
};

// One file: an upload, or the data of a job with the tenant_key() of its tenant.
struct UploadEntry {
  UploadInfo info;
  std::string tenant = {};
};

std::optional<UploadEntry> read_upload_entry(const std::filesystem::path& file);   // empty: it is not there, or damaged
// All or nothing, and on disk when it returns. Errors: the disk's.
void write_upload_entry(const std::filesystem::path& file, const UploadEntry& entry);

// What is in a folder; empty if it is no folder.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

}  // namespace kedge::server
