// The directory of parsed data sets: names, checks, leftovers, and which files are being made.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "server/data/cache_uses.h"
#include "server/data/reference_index.h"

namespace kedge::server {

// What a reference led to; stays on disk as long as this lives.
struct KnownFile : IndexEntry {
  CacheHold hold;
};

// Thread safe. Files are named after their content, so one that is there is right; they end in ".kds".
class DatasetStore {
 public:
  explicit DatasetStore(std::filesystem::path directory);   // created if absent; unfinished files are removed
  ~DatasetStore();

  const ReferenceIndex& index() const { return index_; }
  std::filesystem::path path(const std::string& file) const { return directory_ / file; }

  std::uintmax_t bytes() const;   // of all files

  // A new name that no other thread uses; what is left there after a crash is removed at the next start.
  std::filesystem::path temporary_path();

  // True if the file is there and whole. A damaged one is removed, so that it is made again. Its values are compared with their
  // checksum at the first use, and again when something has written to the file.
  bool has(const std::string& file);
  // What the index says of a reference, if its file is there.
  std::optional<KnownFile> find(const std::string& key);
  // The same as far as memory knows, with one look at the file and nothing read. Empty says nothing.
  std::optional<KnownFile> recall(const std::string& key);

  // Calls make() unless the file is there. One thread at a time makes a file; others wait for it. Errors: those of make();
  // kCancelled.
  [[nodiscard]] CacheHold ensure(const std::string& file, const std::function<void()>& make, std::stop_token stop);

  // Removes files without a hold until the rest has at most so many bytes; uploads do not count, and stay. 0: no bound.
  void evict(std::uintmax_t most_bytes);

 private:
  struct Look;   // what the system says of a file
  bool is_remembered(const std::string& file, const Look& now);
  void remember(const std::string& file, const Look& look);
  void remove(const std::string& file);

  std::filesystem::path directory_;
  ReferenceIndex index_;
  std::atomic<int> n_temporary_{0}, evicted_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> in_progress_;   // guarded by mutex_
  CacheUses uses_;
  std::mutex looks_mutex_;
  std::map<std::string, Look> looks_;   // by file, as it was when it was found whole
};

}  // namespace kedge::server
