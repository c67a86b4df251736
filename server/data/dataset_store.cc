// The directory of parsed data sets: names, checks, leftovers, and who is just making which file.
#include "server/data/dataset_store.h"

#include <fmt/core.h>

#include "engine/core/dataset_file.h"
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

}  // namespace

DatasetStore::DatasetStore(std::filesystem::path directory)
    : directory_(prepared(std::move(directory))), index_(directory_ / "references") {}

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

bool DatasetStore::has(const std::string& file) const {
  std::error_code ignored;
  if (!std::filesystem::exists(path(file), ignored)) return false;
  try {
    engine::DatasetFile check(path(file));
    return true;
  } catch (const schema::Error&) {
    std::filesystem::remove(path(file), ignored);
    return false;
  }
}

std::optional<IndexEntry> DatasetStore::find(const std::string& key) const {
  auto entry = index_.find(key);
  return entry && has(entry->file) ? entry : std::nullopt;
}

void DatasetStore::ensure(const std::string& file, const std::function<void()>& make, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [&] { return !in_progress_.contains(file); }))
    throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
  if (has(file)) return;
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
  make();
}

}  // namespace kedge::server
