// Counts and removals under one lock: see content_references.h.
#include "server/data/content_references.h"

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <system_error>

#include "crypto/digest.h"
#include "engine/faults/fail_point.h"

namespace kedge::server {

std::string derived_prefix(const std::string& file) {
  constexpr std::size_t kDigits = 24;
  return fmt::format("derived-{}-", crypto::hex_digest(crypto::DigestKind::kSha256, file).substr(0, kDigits));
}

// Not a shared_ptr's deleter: where memory ends the library calls one that it has moved from.
struct ContentReferences::Held {
  std::shared_ptr<ContentReferences> books;
  std::string file;
  bool is_counted = false;
  ~Held() {
    if (is_counted) books->drop(file);
  }
};

ContentReferences::ContentReferences(std::filesystem::path directory, std::filesystem::path trash)
    : directory_(std::move(directory)), trash_(std::move(trash)) {}

CacheHold ContentReferences::hold(const std::string& file) {
  const auto held = std::make_shared<Held>(shared_from_this(), file);
  const std::lock_guard lock(mutex_);
  ++counts_[file];
  held->is_counted = true;
  return held;
}

bool ContentReferences::has(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  return counts_.contains(file);
}

void ContentReferences::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

// Under the lock the file only loses its name, because the removal of a large one is slow.
void ContentReferences::drop(const std::string& file) noexcept try {
  std::filesystem::path gone;
  {
    const std::lock_guard lock(mutex_);
    const auto count = counts_.find(file);
    if (--count->second > 0 && !KEDGE_CONTROL("remove-shared-content")) return;
    if (count->second == 0) counts_.erase(count);
    if (is_closed_) return;
    const std::filesystem::path from = directory_ / file;
    gone = trash_ / fmt::format("removed-{}.part", ++n_removed_);
    if (std::rename(from.c_str(), gone.c_str()) != 0) return;
  }
  std::error_code ignored;
  std::filesystem::remove(gone, ignored);
  remove_derived(file);
} catch (const std::exception&) {   // no memory: the file is removed at the next start
}

// A worker that has one mapped keeps what it has mapped. The cache looks at the disk before it gives one to a job.
void ContentReferences::remove_derived(const std::string& file) const {
  const std::string prefix = derived_prefix(file);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored))
    if (entry.path().filename().string().starts_with(prefix)) std::filesystem::remove(entry.path(), ignored);
}

}  // namespace kedge::server
