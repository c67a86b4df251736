// Counts the holders of each content file: names, jobs and uploads. The file is removed with its last holder, and so is
// what was made of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/data/cache_uses.h"

namespace kedge::server {

// How the names of files begin that were made of this one, such as the rows that a selection leaves of it.
std::string derived_prefix(const std::string& file);

// Thread safe. A count and the removal at zero are one step, so that a file with a new hold stays.
class ContentReferences : public std::enable_shared_from_this<ContentReferences> {
 public:
  // `trash`: a folder of the same file system, for what is being removed.
  ContentReferences(std::filesystem::path directory, std::filesystem::path trash);

  // The file, which need not be there yet, stays as long as this or a copy of it lives.
  CacheHold hold(const std::string& file);
  bool has(const std::string& file) const;   // it has a hold
  void close();                              // the server ends: from now on nothing is removed

 private:
  struct Held;
  void drop(const std::string& file) noexcept;
  void remove_derived(const std::string& file) const;

  const std::filesystem::path directory_, trash_;
  mutable std::mutex mutex_;   // guards what follows
  std::map<std::string, std::size_t> counts_;
  std::size_t n_removed_ = 0;
  bool is_closed_ = false;
};

}  // namespace kedge::server
