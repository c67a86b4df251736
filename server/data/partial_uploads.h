// Uploads by content while they come: if a connection breaks, what it has brought is kept for a while, so that another
// can go on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "server/data/kept_uploads.h"
#include "server/data/uploads.h"

namespace kedge::server {

// Thread safe. What waits outlasts the server, if so much was announced that it is worth a file; it is read again when
// a connection goes on with it.
class PartialUploads {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostOfTenant = 4, kMost = 64;   // that wait; the oldest are given up for others
  static constexpr std::chrono::seconds kSilence{10};   // a connection that brings nothing for so long counts as broken
  static constexpr std::uint64_t kLeastOutlasting = 1 << 20;             // bytes
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;   // that wait; the oldest are given up

  // Takes up what an earlier run has left in the folder. The others outlive this.
  PartialUploads(Uploads& uploads, TenantBytes& bytes, const std::filesystem::path& folder);
  ~PartialUploads();
  // For so long what has come waits for another connection; 0: not at all.
  void set_kept(std::chrono::seconds kept);
  void set_most_bytes(std::uint64_t most);   // in place of kMostBytes

 private:
  struct Partial;
  struct Dormant;
  using Key = std::pair<std::string, std::string>;   // tenant_key() and name

 public:
  // What one connection brings. Without finish() it is kept, if no other connection sends the same at the time.
  class Writer {
   public:
    ~Writer();
    Writer(const Writer&) = delete;
    // Errors: as Uploads::Upload, and then nothing is kept; kConflict once another connection goes on with it.
    void write(std::string_view bytes);
    Uploads::Content finish(std::stop_token stop);

   private:
    friend class PartialUploads;
    Writer(PartialUploads& owner, Key key, std::shared_ptr<Partial> partial);   // the owner's mutex is held
    template <class Work>
    auto with_upload(const Work& work);

    PartialUploads& owner_;
    const Key key_;
    const std::shared_ptr<Partial> partial_;
    const std::uint64_t turn_;
    std::uint64_t at_;   // bytes before the next
    bool has_ended_ = false;
  };

  // Begins a content name, or goes on behind its first `offset` bytes; null if not exactly so many wait. `announced`:
  // bytes in all, 0: not known. Errors: as Uploads::begin().
  std::unique_ptr<Writer> begin(const std::string& tenant, const std::string& name, const std::string& format,
                                std::uint64_t offset, std::uint64_t announced);
  // Bytes that wait for the rest; 0: none.
  std::uint64_t waiting(const std::string& tenant, const std::string& name) const;

 private:
  void take_up(KeptUpload kept);
  void wake(const std::string& tenant, Partial& partial);
  void outlast(const Key& key, const std::string& format, std::uint64_t announced, Partial& partial) noexcept;
  std::size_t count_waiting(const std::string& tenant) const;
  std::uint64_t bytes_waiting() const;
  void forget(const Key& key, const std::shared_ptr<Partial>& partial) noexcept;
  void keep(const Key& key, const std::shared_ptr<Partial>& partial, std::uint64_t turn) noexcept;
  std::shared_ptr<Partial> take_oldest(const std::string& tenant);
  void sweep(const std::stop_token& stop);

  Uploads& uploads_;
  TenantBytes& books_;
  const KeptUploads files_;
  mutable std::mutex mutex_;   // guards what follows, and of each Partial what says so
  std::map<Key, std::shared_ptr<Partial>>
      partials_;   // shared with their writers, which may find that they were replaced
  std::chrono::seconds kept_{3600};
  std::uint64_t most_bytes_ = kMostBytes;
  std::uint64_t n_changes_ = 0;   // that the sweeper has to look at
  std::condition_variable_any changed_;
  std::jthread sweeper_;   // runs from the first that waits on
};

}   // namespace kedge::server
