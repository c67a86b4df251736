// Which files of the cache are in use, and which were used longest ago: what may be removed when there are too many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace kedge::server {

// Keeps a file of the cache on disk while it lives; may outlive the cache.
using CacheHold = std::shared_ptr<const void>;

// Thread safe.
class CacheUses {
 public:
  static constexpr std::size_t kMostFiles = 100'000;   // of any size: names and order are kept in memory

  CacheUses();

  // The file is there, with so many bytes, and was used just now.
  void add(const std::string& file, std::uintmax_t bytes);
  void remove(const std::string& file);   // it is not there any more
  // Also a use. The file need not be there yet.
  CacheHold hold(const std::string& file);

  // Calls remove(file), which takes it from the disk, for files without a hold, those that were used longest ago first,
  // until the rest has at most so many bytes. No hold is given meanwhile, so a caller that has one and then finds the
  // file keeps it.
  void evict(std::uintmax_t most_bytes, const std::function<void(const std::string& file)>& remove);

 private:
  struct Use {
    std::uintmax_t bytes = 0;   // 0: not there
    std::uint64_t last = 0;
    int holds = 0;
  };
  struct Books {
    std::mutex mutex;                             // guards what follows
    std::map<std::string, Use> files;             // that are there or held
    std::map<std::uint64_t, std::string> order;   // by last use, those that are there
    std::uintmax_t bytes = 0;
    std::uint64_t clock = 0;

    void use(const std::string& file, std::uintmax_t size);
    void release(const std::string& file);
    void forget(std::map<std::string, Use>::iterator use);
  };

  struct Held;

  const std::shared_ptr<Books> books_;   // shared with the holds
};

}   // namespace kedge::server
