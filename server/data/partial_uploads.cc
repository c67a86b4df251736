// Hands unfinished uploads from one connection to the next: see partial_uploads.h.
#include "server/data/partial_uploads.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "schemas/error.h"

namespace kedge::server {

using schema::Error;
using schema::ErrorCode;

// What an earlier run has left. Its bytes count, and go from the disk with it, unless they are somebody else's now.
struct PartialUploads::Dormant {
  Dormant(TenantBytes& books, KeptUpload kept) : books(books), kept(std::move(kept)) {
    books.charge_key(this->kept.tenant, this->kept.bytes);
  }
  ~Dormant() {
    release();
    if (!stays) KeptUploads::remove(kept.file);
  }
  Dormant(const Dormant&) = delete;
  void release() noexcept {
    if (counts) books.release_key(kept.tenant, kept.bytes);
    counts = false;
  }
  TenantBytes& books;
  const KeptUpload kept;
  bool counts = true, stays = false;
};

struct PartialUploads::Partial {
  std::mutex writing;   // held while the upload works; taken before the owner's
  std::unique_ptr<Uploads::Upload> upload;
  std::unique_ptr<Dormant> dormant;   // in its place until a connection goes on
  // The owner's mutex guards these.
  std::uint64_t bytes = 0, turn = 0;   // turn: of the writer that may write
  bool has_writer = false;
  Clock::time_point last = Clock::now();   // bytes came, or the writer went

  bool waits() const { return !has_writer || Clock::now() - last >= kSilence; }
};

PartialUploads::PartialUploads(Uploads& uploads, TenantBytes& bytes, const std::filesystem::path& folder)
    : uploads_(uploads), books_(bytes), files_(folder) {
  for (KeptUpload& kept : files_.read_all()) take_up(std::move(kept));
}

PartialUploads::~PartialUploads() {
  sweeper_.request_stop();
  if (sweeper_.joinable()) sweeper_.join();
  for (const auto& [key, partial] : partials_) {
    if (partial->dormant) partial->dormant->stays = true;
    if (partial->upload && partial->bytes > 0 && kept_.count() > 0) partial->upload->leave_sent();
  }
}

// Of an earlier run; the newer of two takes the place of the older.
void PartialUploads::take_up(KeptUpload kept) {
  const auto age = std::chrono::system_clock::now() - kept.last;
  auto partial = std::make_shared<Partial>();
  partial->bytes = kept.bytes, partial->last = Clock::now() - std::chrono::duration_cast<Clock::duration>(age);
  const Key key(kept.tenant, kept.name);
  partial->dormant = std::make_unique<Dormant>(books_, std::move(kept));
  partials_.insert_or_assign(key, std::move(partial));
  while (count_waiting(key.first) > kMostOfTenant) take_oldest(key.first);
  while (count_waiting({}) > kMost || bytes_waiting() > most_bytes_) take_oldest({});
}

// Reads its bytes again. Errors: those of Uploads::Upload; then nothing is kept.
void PartialUploads::wake(const std::string& tenant, Partial& partial) {
  const std::lock_guard writing(partial.writing);
  if (!partial.dormant) return;
  const KeptUpload& kept = partial.dormant->kept;
  partial.dormant->release();
  std::unique_ptr<Uploads::Upload> upload = uploads_.begin(tenant, kept.name, kept.format, kept.announced);
  upload->keep_sent_at(
      std::filesystem::path(kept.file).replace_extension(".new"));   // so that a second end finds the first file
  std::ifstream file(kept.file, std::ios::binary);
  std::string piece(std::size_t{1} << 20, '\0');
  for (std::uint64_t left = kept.bytes; left > 0;) {
    const std::size_t n = std::min<std::uint64_t>(left, piece.size());
    if (!file.read(piece.data(), static_cast<std::streamsize>(n)))
      throw Error(ErrorCode::kUnavailable, "what has come of the upload cannot be read; send it again");
    upload->write(std::string_view(piece).substr(0, n));
    left -= n;
  }
  partial.dormant->stays = upload->move_sent_to(kept.file);
  partial.upload = std::move(upload);
  partial.dormant.reset();
}

// From now on what comes is on the disk, if there is room.
void PartialUploads::outlast(const Key& key, const std::string& format, std::uint64_t announced,
                             Partial& partial) noexcept try {
  if (announced != 0 && announced < kLeastOutlasting) return;
  partial.upload->keep_sent_at(
      files_.begin({.tenant = key.first, .name = key.second, .format = format, .announced = announced}));
} catch (const std::exception&) {   // it ends with the server
}

void PartialUploads::set_most_bytes(std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  most_bytes_ = most;
}

void PartialUploads::set_kept(std::chrono::seconds kept) {
  const std::lock_guard lock(mutex_);
  kept_ = kept, ++n_changes_;
  if (!partials_.empty() && !sweeper_.joinable())   // of an earlier run, whose age may now be too great
    sweeper_ = std::jthread([this](const std::stop_token& token) { sweep(token); });
  changed_.notify_all();
}

std::uint64_t PartialUploads::waiting(const std::string& tenant, const std::string& name) const {
  const Key key(tenant_key(tenant), name);
  const std::lock_guard lock(mutex_);
  const auto found = partials_.find(key);
  return found != partials_.end() && found->second->waits() ? found->second->bytes : 0;
}

std::unique_ptr<PartialUploads::Writer> PartialUploads::begin(const std::string& tenant, const std::string& name,
                                                              const std::string& format, std::uint64_t offset,
                                                              std::uint64_t announced) {
  const Key key(tenant_key(tenant), name);
  std::shared_ptr<Partial> before, partial;
  std::unique_ptr<Writer> writer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = partials_.find(key);
    const bool waits = found != partials_.end() && found->second->waits();
    if (offset > 0) {
      if (!waits || found->second->bytes != offset) return nullptr;
      partial = found->second;
    } else if (waits) {   // it begins anew
      before = std::move(found->second);
      ++before->turn;
      partials_.erase(found);
    }
    if (partial) {
      ++partial->turn, partial->has_writer = true, partial->last = Clock::now();
      writer.reset(new Writer(*this, key, partial));
    }
  }
  if (writer) {
    try {
      wake(tenant, *partial);
    } catch (...) {
      forget(key, partial);
      throw;
    }
    return writer;
  }
  before.reset();   // its bytes make room
  partial = std::make_shared<Partial>();
  partial->upload = uploads_.begin(tenant, name, format, announced);
  bool has_place = false;
  {
    const std::lock_guard lock(mutex_);
    partial->has_writer = true;
    has_place = partials_.try_emplace(key, partial).second;   // another connection that sends the same keeps its place
    writer.reset(new Writer(*this, key, partial));
    has_place = has_place && kept_.count() > 0;
  }
  if (has_place) outlast(key, format, announced, *partial);
  return writer;
}

std::size_t PartialUploads::count_waiting(const std::string& tenant) const {
  return static_cast<std::size_t>(std::ranges::count_if(partials_, [&](const auto& entry) {
    return entry.second->waits() && (tenant.empty() || entry.first.first == tenant);
  }));
}

std::uint64_t PartialUploads::bytes_waiting() const {
  std::uint64_t sum = 0;
  for (const auto& [key, partial] : partials_) sum += partial->waits() ? partial->bytes : 0;
  return sum;
}

void PartialUploads::forget(const Key& key, const std::shared_ptr<Partial>& partial) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = partials_.find(key);
  if (found != partials_.end() && found->second == partial) partials_.erase(found);
}

// A writer has gone. What has no place, or nothing in it, goes as well.
void PartialUploads::keep(const Key& key, const std::shared_ptr<Partial>& partial, std::uint64_t turn) noexcept try {
  std::vector<std::shared_ptr<Partial>> gone;   // let go after the lock: files are removed
  const std::lock_guard lock(mutex_);
  if (partial->turn != turn) return;
  partial->has_writer = false, partial->last = Clock::now();
  const auto found = partials_.find(key);
  if (found == partials_.end() || found->second != partial) return;
  if (partial->bytes == 0 || kept_.count() == 0) {
    partials_.erase(found);
    return;
  }
  while (count_waiting(key.first) > kMostOfTenant) gone.push_back(take_oldest(key.first));
  while (count_waiting({}) > kMost || bytes_waiting() > most_bytes_) gone.push_back(take_oldest({}));
  if (!sweeper_.joinable()) sweeper_ = std::jthread([this](const std::stop_token& stop) { sweep(stop); });
  ++n_changes_;
  changed_.notify_all();
} catch (const std::exception&) {   // no memory or no thread: it is given up
  forget(key, partial);
}

// Of one tenant, or of all; there is one that waits.
std::shared_ptr<PartialUploads::Partial> PartialUploads::take_oldest(const std::string& tenant) {
  auto oldest = partials_.end();
  for (auto entry = partials_.begin(); entry != partials_.end(); ++entry) {
    if (!entry->second->waits() || (!tenant.empty() && entry->first.first != tenant)) continue;
    if (oldest == partials_.end() || entry->second->last < oldest->second->last) oldest = entry;
  }
  std::shared_ptr<Partial> taken = std::move(oldest->second);
  partials_.erase(oldest);
  return taken;
}

void PartialUploads::sweep(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    std::vector<std::shared_ptr<Partial>> gone;
    auto next = Clock::now() + std::chrono::hours(1);
    for (auto entry = partials_.begin(); entry != partials_.end();) {
      const auto end = entry->second->last + kept_;
      const bool is_over = !entry->second->has_writer && end <= Clock::now();
      if (!entry->second->has_writer && !is_over) next = std::min(next, end);
      if (is_over) gone.push_back(std::move(entry->second));
      entry = is_over ? partials_.erase(entry) : std::next(entry);
    }
    if (!gone.empty()) {
      lock.unlock();
      gone.clear();
      lock.lock();
      continue;
    }
    changed_.wait_until(lock, stop, next, [this, before = n_changes_] { return n_changes_ != before; });
  }
}

PartialUploads::Writer::Writer(PartialUploads& owner, Key key, std::shared_ptr<Partial> partial)
    : owner_(owner), key_(std::move(key)), partial_(std::move(partial)), turn_(partial_->turn), at_(partial_->bytes) {}

PartialUploads::Writer::~Writer() {
  if (!has_ended_) owner_.keep(key_, partial_, turn_);
}

template <class Work>
auto PartialUploads::Writer::with_upload(const Work& work) {
  const std::lock_guard writing(partial_->writing);
  {
    const std::lock_guard lock(owner_.mutex_);
    if (partial_->turn != turn_ || partial_->bytes != at_)
      throw Error(ErrorCode::kConflict, "another connection goes on with this upload");
  }
  try {
    return work(*partial_->upload);
  } catch (...) {
    has_ended_ = true;
    owner_.forget(key_, partial_);
    throw;
  }
}

void PartialUploads::Writer::write(std::string_view bytes) {
  with_upload([&](Uploads::Upload& upload) {
    upload.write(bytes);
    const std::lock_guard lock(owner_.mutex_);
    partial_->bytes = at_ += bytes.size(), partial_->last = Clock::now();
  });
}

Uploads::Content PartialUploads::Writer::finish(std::stop_token stop) {
  Uploads::Content content = with_upload([&](Uploads::Upload& upload) { return upload.finish(std::move(stop)); });
  has_ended_ = true;
  owner_.forget(key_, partial_);
  return content;
}

}   // namespace kedge::server
