// The books of the cache: see cache_uses.h.
#include "server/data/cache_uses.h"

#include "engine/faults/fail_point.h"

namespace kedge::server {

CacheUses::CacheUses() : books_(std::make_shared<Books>()) {}

void CacheUses::Books::use(const std::string& file, std::uintmax_t size) {
  Use& mine = files[file];
  order.erase(mine.last);
  bytes += size - mine.bytes;
  mine.bytes = size, mine.last = ++clock;
  if (size > 0) order[mine.last] = file;
}

void CacheUses::Books::forget(std::map<std::string, Use>::iterator use) {
  order.erase(use->second.last);
  bytes -= use->second.bytes;
  use->second.bytes = 0;
  if (use->second.holds == 0) files.erase(use);
}

void CacheUses::Books::release(const std::string& file) {
  const std::lock_guard lock(mutex);
  const auto use = files.find(file);
  if (--use->second.holds == 0 && use->second.bytes == 0) files.erase(use);
}

void CacheUses::add(const std::string& file, std::uintmax_t bytes) {
  const std::lock_guard lock(books_->mutex);
  books_->use(file, bytes);
}

void CacheUses::remove(const std::string& file) {
  const std::lock_guard lock(books_->mutex);
  if (const auto use = books_->files.find(file); use != books_->files.end()) books_->forget(use);
}

// Not a shared_ptr's deleter: where memory ends the library calls one that it has moved from.
struct CacheUses::Held {
  std::shared_ptr<Books> books;
  std::string file;
  bool is_counted = false;
  ~Held() {
    if (is_counted) books->release(file);
  }
};

CacheHold CacheUses::hold(const std::string& file) {
  const auto held = std::make_shared<Held>(books_, file);
  const std::lock_guard lock(books_->mutex);
  books_->use(file, books_->files[file].bytes);
  ++books_->files[file].holds;
  held->is_counted = true;
  return held;
}

void CacheUses::evict(std::uintmax_t most_bytes, const std::function<void(const std::string&)>& remove) {
  const std::lock_guard lock(books_->mutex);
  for (auto next = books_->order.begin(); next != books_->order.end();) {
    if (books_->bytes <= most_bytes && books_->order.size() <= kMostFiles) return;
    const auto use = books_->files.find((next++)->second);
    if (use->second.holds > 0 && !KEDGE_CONTROL("evict-what-is-used")) continue;
    remove(use->first);
    books_->forget(use);
  }
}

}   // namespace kedge::server
