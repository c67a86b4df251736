// Remembers on disk which file a data set reference led to, so that a second run needs no network.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace kedge::server {

struct IndexEntry {
  std::string file;   // name within the data directory
  std::string etag;   // of the source, if it had one
};

// One small file for each reference, replaced as a whole. Thread safe; the last writer wins.
class ReferenceIndex {
 public:
  explicit ReferenceIndex(std::filesystem::path directory);   // created if absent
  std::optional<IndexEntry> find(const std::string& key) const;
  // What find() or put() had last, without a look at the disk. Empty says nothing.
  std::optional<IndexEntry> recall(const std::string& key) const;
  void put(const std::string& key, const IndexEntry& entry) const;
  void forget_missing(const std::filesystem::path& files) const;   // entries whose file is not in that directory

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void remember(const std::string& key, const IndexEntry& entry) const;   // under the lock

  std::filesystem::path directory_;
  mutable std::mutex mutex_;   // guards what follows, and keeps it in the order of the disk
  mutable std::map<std::string, IndexEntry> recent_;
};

}  // namespace kedge::server
