// The directory of parsed data sets: names, checks, leftovers, and which files are being made.
#include "server/data/dataset_store.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include "engine/core/dataset_file.h"
#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

std::filesystem::path prepared(std::filesystem::path directory) {
  std::filesystem::create_directories(directory / "references");
  for (const auto& folder : {directory, directory / "references"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".part") std::filesystem::remove(entry.path());
  return directory;
}

constexpr std::size_t kMostLooks = 10'000;
constexpr int kPrune = 1000;   // files that went, until the index is read through

// Others are uploads, which `Uploads` removes.
bool is_cached(const std::filesystem::path& file) {
  return file.extension() == ".kds" && !file.filename().string().starts_with("stored-");
}

}  // namespace

struct DatasetStore::Look {
  ino_t inode = 0;
  off_t size = 0;
  timespec written{}, changed{};

  explicit Look(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) inode = status.st_ino, size = status.st_size, written = status.st_mtim, changed = status.st_ctim;
  }
  bool is_there() const { return inode != 0; }
  bool is_like(const Look& earlier) const {
    const auto same = [](const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
    return inode == earlier.inode && size == earlier.size && same(written, earlier.written) && same(changed, earlier.changed);
  }
};

DatasetStore::DatasetStore(std::filesystem::path directory)
    : directory_(prepared(std::move(directory))), index_(directory_ / "references") {
  std::multimap<std::filesystem::file_time_type, std::filesystem::path> by_time;
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    if (is_cached(entry.path())) by_time.emplace(entry.last_write_time(), entry.path());
  for (const auto& [time, file] : by_time) uses_.add(file.filename().string(), std::filesystem::file_size(file));
}

DatasetStore::~DatasetStore() = default;

std::uintmax_t DatasetStore::bytes() const {
  std::uintmax_t sum = 0;
  std::error_code gone;   // a file may be removed meanwhile
  for (const auto& entry : std::filesystem::directory_iterator(directory_, gone)) {
    const std::uintmax_t size = entry.path().extension() == ".kds" ? entry.file_size(gone) : 0;
    if (!gone) sum += size;
  }
  return sum;
}

std::filesystem::path DatasetStore::temporary_path() { return path(fmt::format("text-{}.part", ++n_temporary_)); }

bool DatasetStore::is_remembered(const std::string& file, const Look& now) {
  const std::lock_guard lock(looks_mutex_);
  const auto earlier = looks_.find(file);
  return earlier != looks_.end() && now.is_like(earlier->second);
}

// A file that is not remembered is compared with its checksum once more.
void DatasetStore::remember(const std::string& file, const Look& look) {
  const std::lock_guard lock(looks_mutex_);
  if (looks_.size() >= kMostLooks) looks_.clear();
  looks_.insert_or_assign(file, look);
}

void DatasetStore::remove(const std::string& file) {
  std::error_code ignored;
  std::filesystem::remove(path(file), ignored);
  const std::lock_guard lock(looks_mutex_);
  looks_.erase(file);
}

void DatasetStore::evict(std::uintmax_t most_bytes) {
  if (most_bytes == 0) return;
  uses_.evict(most_bytes, [this](const std::string& file) {
    remove(file);
    ++evicted_;
  });
  if (evicted_ < kPrune) return;
  evicted_ = 0;
  index_.forget_missing(directory_);
}

bool DatasetStore::has(const std::string& file) {
  const Look now(path(file));   // before the file is read: a change meanwhile is seen the next time
  if (!now.is_there()) return false;
  if (is_remembered(file, now)) return true;
  try {
    if (engine::DatasetFile(path(file)).values_are_whole() || KEDGE_CONTROL("trust-the-cache")) {
      remember(file, now);
      return true;
    }
  } catch (const schema::Error& error) {   // not even its head can be read
    if (error.code != schema::ErrorCode::kDatasetCorrupt) throw;
  }
  remove(file);
  uses_.remove(file);
  return false;
}

std::optional<KnownFile> DatasetStore::find(const std::string& key) {
  const auto entry = index_.find(key);
  if (!entry) return std::nullopt;
  KnownFile known{*entry, uses_.hold(entry->file)};   // before the look, so that it is not removed in between
  return has(entry->file) ? std::optional(std::move(known)) : std::nullopt;
}

std::optional<KnownFile> DatasetStore::recall(const std::string& key) {
  const auto entry = index_.recall(key);
  if (!entry) return std::nullopt;
  KnownFile known{*entry, uses_.hold(entry->file)};
  const Look now(path(entry->file));
  return now.is_there() && is_remembered(entry->file, now) ? std::optional(std::move(known)) : std::nullopt;
}

CacheHold DatasetStore::ensure(const std::string& file, const std::function<void()>& make, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [&] { return !in_progress_.contains(file); }))
    throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
  in_progress_.insert(file);
  lock.unlock();
  struct Done {
    DatasetStore& store;
    const std::string& file;
    ~Done() {
      const std::lock_guard lock(store.mutex_);
      store.in_progress_.erase(file);
      store.changed_.notify_all();
    }
  } done{*this, file};
  CacheHold hold = uses_.hold(file);
  if (has(file)) return hold;
  make();
  std::error_code ignored;
  uses_.add(file, std::filesystem::file_size(path(file), ignored));
  return hold;
}

}  // namespace kedge::server
