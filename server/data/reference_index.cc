// Remembers on disk which file a data set reference led to, so that a second run needs no network.
#include "server/data/reference_index.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "crypto/digest.h"
#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "engine/faults/fail_point.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMostRecent = 1'000;

// A line ends with its line feed, or it is not there: a cut-off entry is no entry.
std::optional<std::string> take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

}  // namespace

ReferenceIndex::ReferenceIndex(std::filesystem::path directory) : directory_(std::move(directory)) {
  std::filesystem::create_directories(directory_);
}

std::filesystem::path ReferenceIndex::path_of(const std::string& key) const {
  return directory_ / (crypto::hex_digest(crypto::DigestKind::kSha256, key).substr(0, 40) + ".ref");
}

std::optional<IndexEntry> ReferenceIndex::recall(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = recent_.find(key);
  return known != recent_.end() ? std::optional(known->second) : std::nullopt;
}

void ReferenceIndex::remember(const std::string& key, const IndexEntry& entry) const {
  if (recent_.size() >= kMostRecent) recent_.clear();
  recent_.insert_or_assign(key, entry);
}

std::optional<IndexEntry> ReferenceIndex::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  std::ifstream in(path_of(key), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto file = take_line(text), etag = take_line(text);
  if (!file || !etag || text != key) return std::nullopt;
  IndexEntry entry{*file, *etag};
  remember(key, entry);
  return entry;
}

void ReferenceIndex::forget_missing(const std::filesystem::path& files) const {
  std::error_code ignored;   // files may be removed meanwhile
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    if (entry.path().extension() != ".ref") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string file;
    if (std::getline(in, file) && !std::filesystem::exists(files / file, ignored)) std::filesystem::remove(entry.path(), ignored);
  }
}

void ReferenceIndex::put(const std::string& key, const IndexEntry& entry) const {
  const std::filesystem::path path = path_of(key);
  std::string part = path.string() + "-XXXXXX.part";
  const int fd = ::mkostemps(part.data(), 5, O_CLOEXEC);
  const std::string text = entry.file + "\n" + entry.etag + "\n" + key;
  KEDGE_FAIL_POINT("dataset.sync.before");
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  KEDGE_FAIL_POINT("dataset.sync.after");
  KEDGE_FAIL_POINT("dataset.rename.before");
  bool done = false;
  {
    const std::lock_guard lock(mutex_);
    done = written && ::rename(part.c_str(), path.c_str()) == 0;
    if (done) remember(key, entry);
  }
  KEDGE_FAIL_POINT("dataset.rename.after");
  if (!done && fd >= 0) ::unlink(part.c_str());
  engine::require(done, engine::disk_error(error), "{}: cannot be written: {}", engine::shown(path), std::strerror(error));
}

}  // namespace kedge::server
