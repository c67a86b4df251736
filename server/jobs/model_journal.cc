// New models on their way to the disk: see model_journal.h.
#include "server/jobs/model_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <new>
#include <optional>

#include "crypto/digest.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMaxUnsettled = 256;   // models; beyond, each waits for its own syncs
constexpr std::size_t kMany = 64;            // do not wait for company
constexpr std::chrono::seconds kCompany{1};

// The disk works while the digest is computed; sync() says whether it took the file.
void begin_writing(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  ::close(fd);
}

}  // namespace

// What the last run has left unsettled gets its file anew: a power cut may have torn it.
ModelJournal::ModelJournal(Store& store, const JobFiles& files) : store_(store), files_(files), unsettled_(store.unsettled_models()) {
  for (const std::string& id : unsettled_) remove(id);
  thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
}

bool ModelJournal::has_room() const {
  const std::lock_guard lock(mutex_);
  return unsettled_.size() + settling_ < kMaxUnsettled;
}

NewModel ModelJournal::adopt_file(const std::filesystem::path& file, schema::ModelInfo info) const {
  begin_writing(file);
  info.sha256 = crypto::file_digest(crypto::DigestKind::kSha256, file);
  std::error_code missing;
  info.bytes = static_cast<std::int64_t>(std::filesystem::file_size(file, missing));
  files_.place_model(file, info.id);
  sync(info.id);
  return {.info = std::move(info)};
}

// The digest of bytes in the store is the store's to tell: to compute it takes as long as some small fits.
NewModel ModelJournal::adopt_bytes(std::string bytes, schema::ModelInfo info) const {
  info.bytes = static_cast<std::int64_t>(bytes.size());
  if (has_room()) return {.info = std::move(info), .bytes = std::move(bytes)};
  info.sha256 = crypto::sha256_hex(bytes);
  files_.write_model(info.id, bytes);
  sync(info.id);
  return {.info = std::move(info)};
}

void ModelJournal::stored(const NewModel& model) {
  if (model.bytes.empty()) return;
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    unsettled_.push_back(model.info.id);
    is_news = unsettled_.size() == 1 || unsettled_.size() == kMany;
  }
  if (is_news) changed_.notify_one();
}

std::filesystem::path ModelJournal::file_of(std::string_view id) const {
  make_file(id, Make::kIfMissing);   // a model with neither file nor bytes was deleted: opening it fails
  return files_.model_path(id);
}

void ModelJournal::remove(std::string_view id) const {
  const std::lock_guard lock(making_);
  std::error_code ignored;   // an orphan is removed at the next start
  std::filesystem::remove(files_.model_path(id), ignored);
}

bool ModelJournal::make_file(std::string_view id, Make make) const {
  std::error_code unknown;
  const auto is_there = [&] { return make == Make::kIfMissing && std::filesystem::exists(files_.model_path(id), unknown); };
  if (is_there()) return true;
  const std::lock_guard lock(making_);
  if (is_there()) return true;
  const std::optional<std::string> bytes = store_.model_bytes(id);
  if (bytes) files_.write_model(id, *bytes);
  return bytes.has_value();
}

void ModelJournal::sync(std::string_view id) const {
  files_.sync_model(id);
  files_.sync_models();
}

void ModelJournal::loop(std::stop_token stop) {
  bool has_failed = false;
  while (true) {
    std::vector<std::string> ids;
    {
      std::unique_lock lock(mutex_);
      settling_ = 0;
      changed_.wait(lock, stop, [this] { return !unsettled_.empty(); });
      changed_.wait_for(lock, stop, kCompany, [&] { return !has_failed && unsettled_.size() >= kMany; });
      if (stop.stop_requested()) return;   // the next start finds them in the store
      ids.swap(unsettled_);
      settling_ = ids.size();
    }
    try {
      settle(ids, has_failed ? Make::kAnew : Make::kIfMissing);   // what a sync could not write is no longer known to need it
      has_failed = false;
    } catch (const std::exception&) {   // the disk takes nothing, or memory is short
      has_failed = true;
      put_back(std::move(ids));
    }
  }
}

void ModelJournal::settle(const std::vector<std::string>& ids, Make make) {
  std::vector<schema::ModelInfo> settled;
  for (const std::string& id : ids) {
    if (!make_file(id, make)) continue;   // it was deleted
    files_.sync_model(id);
    if (std::optional<schema::ModelInfo> info = store_.find_model(id)) settled.push_back(std::move(*info));
  }
  if (settled.empty()) return;
  files_.sync_models();
  store_.enqueue({.apply = [settled = std::move(settled)](StoreWriter& writer) {
    for (const schema::ModelInfo& info : settled) writer.settle_model(info);
  }});
}

void ModelJournal::put_back(std::vector<std::string> ids) noexcept try {
  const std::lock_guard lock(mutex_);
  unsettled_.insert(unsettled_.end(), std::make_move_iterator(ids.begin()), std::make_move_iterator(ids.end()));
} catch (const std::bad_alloc&) {   // the next start finds them in the store
}

}  // namespace kedge::server
