// Data sets that clients sent: their tenants, their names, contents or jobs, and the table file of each.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/digest.h"
#include "server/data/content_references.h"
#include "server/data/npy.h"
#include "server/data/tenant_bytes.h"
#include "server/data/upload_entries.h"
#include "server/data/upload_decoder.h"

namespace kedge::server {

// 1 to 64 letters, digits, '.', '_' and '-', not beginning with '.'.
bool is_upload_name(std::string_view name);
// "sha256:" and the digest of a content, 64 hexadecimal digits: what an upload without a name is called.
bool is_content_name(std::string_view name);

class PartialUploads;

// Thread safe. Names belong to a tenant; the data that comes with a job has no name and goes with the job. Equal
// content is kept once, or once for each tenant. It stays as long as any name, job or hold leads to it. Uploads by
// content are removed as others come: those that were used longest ago, beyond a bound of their own.
class Uploads {
 public:
  static constexpr std::size_t kMostNames = 10'000;   // of one tenant, so that a list of them stays small
  static constexpr std::size_t kMostContents = kMostNames / 2;   // without a name; the others are removed

  // Reads what is in the directory. `bytes` outlives this object.
  Uploads(std::filesystem::path datasets, TenantBytes& bytes, bool by_tenant = false);
  ~Uploads();
  // Of one tenant's uploads by content, for what comes; 0: no bound.
  void set_most_content_bytes(std::uint64_t most) { most_content_bytes_ = most; }

  // A parsed table that nothing leads to yet. Its file and its place in the tenant's quota last as long as this does.
  struct Content {
    UploadInfo info;
    std::string tenant;   // its tenant_key()
    CacheHold hold;
    TenantBytes::Reservation bytes;
  };

  // Takes the bytes of one upload to disk. Without finish() nothing of it is left.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    // gzip and zstd are decoded. Errors: schema::QuotaExceeded when the tenant's bytes, as sent or as decoded, would be too many,
    // kStorageFull when the disk is full, those of UploadDecoder.
    void write(std::string_view bytes);
    // Parses what came. Errors: those of the parser, with line and column; QuotaExceeded when the table is too large;
    // kDatasetCorrupt where it is not the content that its name says.
    Content finish(std::stop_token stop);

    // From the first byte on, what comes is also in this file as it came, or there alone where it would be kept anyway.
    // It counts as the table does, and is given up where the tenant has no more room. Before the first write().
    void keep_sent_at(std::filesystem::path file) { sent_path_ = std::move(file); }
    // Another place for the file, in the same folder. False: it was given up. Errors: kStorageFull.
    bool move_sent_to(const std::filesystem::path& file);
    // The file stays when this goes.
    void leave_sent();

   private:
    friend class Uploads;
    Upload(Uploads& uploads, const std::string& tenant, UploadInfo info, std::uint64_t announced);
    void take(std::string_view decoded);
    void keep_sent(std::string_view bytes);
    void give_up_sent() noexcept;
    void reserve(std::uint64_t bytes);
    void keep(std::string_view bytes);
    void discard();
    ParseRequest request(std::stop_token stop = {}) const;
    void parse(const std::filesystem::path& file, std::stop_token stop);
    Uploads& uploads_;
    std::string tenant_;   // its key
    UploadInfo info_;
    std::filesystem::path part_;
    std::unique_ptr<NpyStream> npy_;   // set: makes the table while the bytes come
    std::ofstream out_;                // else they are kept until the end
    std::filesystem::path sent_path_;   // not empty: outlasts the server
    std::ofstream sent_;                // of it, where what comes is not what is kept
    std::uint64_t sent_bytes_ = 0;      // in a file beside the table
    crypto::Digest digest_;
    TenantBytes::Reservation bytes_;
    UploadDecoder decoder_;
    std::uint64_t decoded_ = 0;   // bytes
  };
  // name: is_upload_name() or is_content_name(). `announced`: so many bytes will come at least. Errors: kInvalidValue
  // for name or format; schema::QuotaExceeded.
  std::unique_ptr<Upload> begin(const std::string& tenant, const std::string& name, const std::string& format, std::uint64_t announced = 0);
  // The same for the data of a job.
  std::unique_ptr<Upload> begin_for_job(const std::string& tenant, const std::string& format);

  // Begins an upload by content that another connection may go on with.
  PartialUploads& partials() { return *partials_; }

  // Puts it under the name that begin() got, in place of an older one. On disk when it returns.
  UploadInfo publish(Content content);
  // Gives a name to content that the tenant has, as publish() does. Errors: kNotFound; as begin() for the name.
  UploadInfo give_name(const std::string& tenant, const std::string& name, const std::string& content);
  // From now on it is the data of this job, also after a restart, until drop_job(). On disk when it returns.
  void give_to_job(const std::string& job, Content content);
  void drop_job(const std::string& job) noexcept;   // does nothing for a job without data
  bool has_job(const std::string& job) const;
  std::vector<std::string> jobs() const;            // that have data here

  std::vector<UploadInfo> list(const std::string& tenant) const;   // by name
  // By its name, or any of this content where the name is one. This is a use, and so are resolve() and hold().
  std::optional<UploadInfo> find(const std::string& tenant, const std::string& name) const;
  bool remove(const std::string& tenant, const std::string& name);   // false when there is none
  // "sha256:DIGEST" of a name, or of such a digest if the tenant has it. Errors: kDatasetNotFound with the nearest name.
  std::string resolve(const std::string& tenant, const std::string& name) const;
  // What the tenant calls what resolve() gave, for messages; empty: it has no name for it.
  std::string name_of(const std::string& tenant, const std::string& digest) const;
  // The file of what resolve() gave, or of the data of a job of the tenant, which stays as long as this lives; null if there is none.
  CacheHold hold(const std::string& tenant, const std::string& digest) const;

 private:
  struct Stored {
    UploadInfo info;
    CacheHold hold;
    std::uint64_t bytes = 0;   // that count
    mutable std::filesystem::file_time_type used = std::filesystem::file_time_type::clock::now();
  };
  struct JobData {
    std::string tenant;   // its key
    Stored stored;
  };
  using Names = std::map<std::string, Stored>;

  void read_all();
  void read_names(const std::filesystem::path& folder);
  void read_jobs();
  Stored take_up(const std::string& tenant, UploadInfo info);
  void remove_orphans();
  std::filesystem::path entry(const std::string& tenant, const std::string& name) const;
  std::filesystem::path job_entry(const std::string& job) const;
  std::string file_of(const std::string& tenant, const std::string& digest) const;   // where new content goes
  std::string known_file_of(const std::string& tenant, const std::string& digest) const;
  std::unique_ptr<Upload> begin_upload(const std::string& tenant, UploadInfo info, std::uint64_t announced);
  void check_names(const std::string& tenant, const std::string& name);
  const Stored* find_stored(const std::string& key, const std::string& name) const;   // mutex_ is held
  void note_use(const std::string& key, const Stored& stored) const;
  void remove_unused(const std::string& key, const std::string& kept);
  std::vector<Names::node_type> take_unused(const std::string& key, const std::string& kept);
  static Stored stored(Content& content);

  const std::filesystem::path datasets_, directory_;
  TenantBytes& bytes_;
  const bool by_tenant_;
  const std::shared_ptr<ContentReferences> references_;
  std::atomic<std::uint64_t> most_content_bytes_ = 0;
  std::mutex writing_;          // held while entries change on the disk; taken first
  mutable std::mutex mutex_;    // guards what follows, briefly
  std::map<std::string, Names> names_;     // by tenant_key() and name
  std::map<std::string, JobData> jobs_;
  std::uint64_t n_parts_ = 0;
  bool is_damaged_ = false;     // an entry could not be read
  std::unique_ptr<PartialUploads> partials_;   // goes first, for it uses the rest
};

}  // namespace kedge::server
