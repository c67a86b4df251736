// Data sets that clients sent: who has which, under which name, and the file that it became.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/digest.h"
#include "server/data/npy.h"

namespace kedge::server {

struct UploadInfo {
  std::string name;
  std::string format;   // "csv", "arff", "libsvm" or "npy"
  std::string digest;   // SHA-256 of the format, a line feed and the bytes as sent: what a job's reference is pinned to
  std::int64_t bytes = 0, rows = 0, columns = 0;
  std::string created;  // RFC 3339
  friend bool operator==(const UploadInfo&, const UploadInfo&) = default;
};

// Thread safe. Names belong to a tenant; equal content is kept once. The file of a content stays as long as any name leads to it.
class Uploads {
 public:
  // bytes_per_tenant: of what was sent; 0: no bound.
  Uploads(std::filesystem::path datasets, std::uint64_t bytes_per_tenant);
  void set_bytes_per_tenant(std::uint64_t bytes) { bytes_per_tenant_ = bytes; }   // for uploads to come

  // Takes the bytes of one upload to disk. Without finish() nothing of it is left.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    // Errors: schema::QuotaExceeded when the tenant's bytes would be too many, kStorageFull when the disk is full.
    void write(std::string_view bytes);
    // Parses what came, puts it under its name, in place of an older one. Errors: those of the parser, with line and column.
    UploadInfo finish(std::stop_token stop);

   private:
    friend class Uploads;
    Upload(Uploads& uploads, std::string tenant, UploadInfo info);
    void keep(std::string_view bytes);
    void discard();
    ParseRequest request(std::stop_token stop = {}) const;
    void parse(std::stop_token stop);
    Uploads& uploads_;
    std::string tenant_;
    UploadInfo info_;
    std::filesystem::path part_;
    std::unique_ptr<NpyStream> npy_;   // set: makes the table while the bytes come
    std::ofstream out_;                // else they are kept until the end
    crypto::Digest digest_;
    std::uint64_t allowed_;
  };
  // name: 1 to 64 letters, digits, '.', '_' and '-', not beginning with '.'. Errors: kInvalidValue for name or format.
  std::unique_ptr<Upload> begin(const std::string& tenant, const std::string& name, const std::string& format);

  std::vector<UploadInfo> list(const std::string& tenant) const;   // by name
  std::optional<UploadInfo> find(const std::string& tenant, const std::string& name) const;
  bool remove(const std::string& tenant, const std::string& name);   // false when there is none
  // "sha256:DIGEST" of a name, or of such a digest if the tenant has it. Errors: kDatasetNotFound with the nearest name.
  std::string resolve(const std::string& tenant, const std::string& name) const;

 private:
  std::filesystem::path folder(const std::string& tenant) const;
  std::filesystem::path entry(const std::string& tenant, const std::string& name) const;
  std::uint64_t bytes_of(const std::string& tenant, const std::string& except) const;
  void publish(const std::string& tenant, const UploadInfo& info);
  void drop_content(const std::string& digest);

  const std::filesystem::path datasets_, directory_;
  std::atomic<std::uint64_t> bytes_per_tenant_;
  mutable std::mutex mutex_;   // guards the entries
  std::uint64_t n_parts_ = 0;
};

}  // namespace kedge::server
