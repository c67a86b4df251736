// The job store: opening and recovery, the writer thread with its group commit, and a pool of readers. See store.h.
#include "server/store/store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

#include "engine/core/memory_reserve.h"
#include "engine/faults/fail_point.h"
#include "server/store/data_lock.h"
#include "server/store/log.h"
#include "server/store/reader.h"
#include "server/store/recovery.h"
#include "server/store/schema.h"
#include "server/store/writer.h"
#include "server/store/write_queue.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetryInterval{250};       // while the disk takes nothing
constexpr std::chrono::milliseconds kPatience{4};              // of a write without a waiting caller
constexpr std::size_t kIdleReaders = 8;
constexpr std::chrono::milliseconds kControlPause{20};   // for an answer that is too early to get out

}  // namespace

struct Store::Impl {
  Impl(const std::filesystem::path& directory, std::function<void(const std::string&)> woken_callback, std::function<void(double)> committed_callback)
      : lock(directory), file(directory / "kedge.db"), woken(std::move(woken_callback)), committed(std::move(committed_callback)),
        connection(file, SqliteConnection::Mode::kReadWrite), log(connection, file) {
    KEDGE_FAIL_POINT("store.open.before");
    check_integrity(connection, file);
    migrate(connection);
    writer = std::make_unique<SqlStoreWriter>(connection);
    recovered = recover(connection, *writer);
    last_id = with_reader([](StoreReader& reader) { return reader.last_job_id(); });
    KEDGE_FAIL_POINT("store.open.after");
    thread = std::thread([this] { write_loop(); });
  }

  void close() {
    queue.close();
    if (thread.joinable()) thread.join();
  }

  static Error as_error(const std::exception& error) {
    if (const auto* known = dynamic_cast<const Error*>(&error)) return *known;
    if (dynamic_cast<const std::bad_alloc*>(&error)) return Error(ErrorCode::kUnavailable, "memory does not suffice");
    return Error(ErrorCode::kInternal, error.what());
  }

  static bool is_the_disks(ErrorCode code) { return code == ErrorCode::kUnavailable || code == ErrorCode::kStorageFull; }

  void write_loop() {
    const engine::UsesReserve reserve;
    for (std::deque<StoreWrite> batch; !(batch = queue.take()).empty();) {
      if (!try_commit(batch, kPatience)) commit_one_by_one(std::move(batch));
    }
  }

  // A write without a waiting caller waits a little itself, applied but not committed: a short job's steps then go to
  // the disk with its end, which would otherwise wait for their sync. Without patience the batch stays what it is.
  void apply(std::deque<StoreWrite>& batch, Clock::duration patience) {
    const Clock::time_point until = Clock::now() + patience;
    bool is_urgent = false;
    std::size_t applied = 0;
    do {
      for (; applied < batch.size(); ++applied) {
        is_urgent = is_urgent || WriteQueue::is_urgent(batch[applied]);
        batch[applied].apply(*writer);
      }
    } while (!is_urgent && patience > Clock::duration::zero() && queue.take_more(batch, until));
  }

  // One transaction for all of them. On failure nothing of it remains and `failure` says why.
  bool try_commit(std::deque<StoreWrite>& batch, Clock::duration patience) {
    try {
      if (KEDGE_CONTROL("acknowledge-before-commit")) {
        acknowledge(batch);
        std::this_thread::sleep_for(kControlPause);
      }
      writer->begin();
      apply(batch, patience);
      const Clock::time_point start = Clock::now();
      writer->commit();
      if (writer->has_removed()) ++removals;
      if (writer->has_used_registry()) ++registry_changes;
      list_has_changed = writer->has_changed_list();
      if (committed) committed(std::chrono::duration<double>(Clock::now() - start).count());
    } catch (const std::exception& error) {
      failure = as_error(error);
      roll_back();
      return false;
    }
    queue.set_failure({});
    acknowledge(batch);
    wake(batch);
    log.tidy();
    return true;
  }

  static void acknowledge(std::deque<StoreWrite>& batch) {
    KEDGE_FAIL_POINT("store.acknowledge.before");
    for (StoreWrite& write : batch)
      if (const auto committed = std::exchange(write.committed, nullptr)) survive(committed);
    KEDGE_FAIL_POINT("store.acknowledge.after");
  }

  // What is on disk is not undone by a listener that has no memory. A waiting thread that was not woken looks again
  // after a while.
  template <class Work>
  static void survive(const Work& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
    }
  }

  void wake(std::deque<StoreWrite>& batch) {
    KEDGE_FAIL_POINT("store.wake.before");
    survive([&] {
      std::set<std::string> jobs;
      for (StoreWrite& write : batch)
        if (!write.job.empty()) jobs.insert(std::move(write.job));
      if (list_has_changed) jobs.insert(std::string());
      for (const std::string& job : jobs) survive([&] { woken(job); });
    });
    KEDGE_FAIL_POINT("store.wake.after");
  }

  void roll_back() {
    try {
      writer->roll_back();
    } catch (const Error&) {   // a full disk has rolled it back already
    }
  }

  // Finds out which write is at fault: a wrong one is dropped, a failing disk puts the rest back into the queue.
  void commit_one_by_one(std::deque<StoreWrite> batch) {
    while (!batch.empty()) {
      std::deque<StoreWrite> one;
      one.push_back(std::move(batch.front()));
      batch.pop_front();
      if (try_commit(one, {})) continue;
      if (is_the_disks(failure.code)) {
        batch.push_front(std::move(one.front()));
        return wait_for_disk(std::move(batch));
      }
      if (one.front().refused) one.front().refused(failure);
    }
  }

  // New jobs are refused; state changes stay, in their order, and are tried again.
  void wait_for_disk(std::deque<StoreWrite> batch) {
    const Error error(failure.code, failure.message + ": nothing is accepted until the store can be written");
    queue.set_failure(error);
    std::deque<StoreWrite> kept;
    for (StoreWrite& write : batch) {
      if (write.refused)
        write.refused(error);
      else
        kept.push_back(std::move(write));
    }
    if (kept.empty())   // something has to find out when the disk is back
      kept.push_back({.apply = [this](StoreWriter&) { writer->probe(); }});
    queue.put_back(std::move(kept));
    if (queue.rest(kRetryInterval)) give_up();
  }

  // Closing with a disk that takes nothing: what is not written is found as interrupted at the next start.
  void give_up() {
    for (const StoreWrite& write : queue.take_rest())
      if (write.refused) write.refused(WriteQueue::closed_error());
  }

  // Runs `read` with a reader of its own.
  template <class Read>
  std::invoke_result_t<Read, StoreReader&> with_reader(Read read) {
    std::unique_ptr<StoreReader> reader;
    {
      const std::lock_guard guard(readers_mutex);
      if (!readers.empty()) {
        reader = std::move(readers.back());
        readers.pop_back();
      }
    }
    if (!reader) reader = std::make_unique<StoreReader>(file);
    auto value = read(*reader);   // a reader that failed is not used again
    const std::lock_guard guard(readers_mutex);
    if (readers.size() < kIdleReaders) readers.push_back(std::move(reader));
    return value;
  }

  DataLock lock;
  const std::filesystem::path file;
  const std::function<void(const std::string&)> woken;
  const std::function<void(double)> committed;
  SqliteConnection connection;
  StoreLog log;
  std::unique_ptr<SqlStoreWriter> writer;
  Recovered recovered;
  std::string last_id;
  std::atomic<std::uint64_t> removals = 0, registry_changes = 0;
  Error failure;   // of the last transaction that failed; writer thread only
  bool list_has_changed = false;   // by the last transaction; writer thread only

  std::mutex readers_mutex;
  std::vector<std::unique_ptr<StoreReader>> readers;

  WriteQueue queue;
  std::thread thread;   // last: it uses everything above
};

Store::Store(const std::filesystem::path& directory, std::function<void(const std::string&)> woken, std::function<void(double)> committed)
    : impl_(std::make_unique<Impl>(directory, std::move(woken), std::move(committed))) {}
Store::~Store() { close(); }
void Store::close() { impl_->close(); }

std::vector<OpenJob> Store::take_open_jobs() { return std::move(impl_->recovered.jobs); }
std::string Store::last_job_id() const { return impl_->last_id; }
std::int64_t Store::last_lease() const { return impl_->recovered.last_lease; }

void Store::enqueue(StoreWrite write) { impl_->queue.push(std::move(write)); }

std::size_t Store::backlog() const { return impl_->queue.size(); }

std::uint64_t Store::removals() const { return impl_->removals; }

std::uint64_t Store::registry_changes() const {
  return impl_->registry_changes;
}

std::optional<Error> Store::failure() const {
  return impl_->queue.failure();
}

std::map<std::string, std::int64_t> Store::crashes_since(std::string_view time) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.crashes_since(time); });
}

std::vector<Expired> Store::ended_before(std::string_view time, std::int64_t limit) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.ended_before(time, limit); });
}

std::vector<Expired> Store::events_ended_before(std::string_view time, std::int64_t limit) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.events_ended_before(time, limit); });
}

std::vector<Expired> Store::with_more_events_than(std::int64_t events, std::int64_t limit) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.with_more_events_than(events, limit); });
}

std::int64_t Store::used_bytes() const {
  return impl_->with_reader([](StoreReader& reader) { return reader.used_bytes(); });
}

std::optional<schema::Job> Store::find(std::string_view id) const {
  std::optional<OwnedJob> found = find_owned(id);
  return found ? std::optional(std::move(found->job)) : std::nullopt;
}

std::optional<OwnedJob> Store::find_owned(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.find(id); });
}

std::optional<schema::JobSpec> Store::spec(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.spec(id); });
}

std::optional<std::string> Store::tenant(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.tenant(id); });
}

std::string Store::trace(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.trace(id); });
}

bool Store::has_key(std::string_view tenant, std::string_view key) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.has_key(tenant, key); });
}

schema::JobPage Store::list(std::optional<schema::JobState> state, std::int64_t page_size, std::string_view before,
                            const std::optional<std::string>& tenant) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.list(state, page_size, before, tenant); });
}

schema::JobPage Store::search(std::string_view words, std::optional<schema::JobState> state, std::int64_t page_size,
                              std::string_view before, const std::optional<std::string>& tenant) const {
  return impl_->with_reader(
      [&](StoreReader& reader) { return reader.search(words, state, page_size, before, tenant); });
}

JobChanges Store::changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.changes(after, limit, tenant); });
}

std::vector<schema::Event> Store::events(std::string_view id, std::int64_t after, std::size_t limit) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.events(id, after, limit); });
}

std::optional<schema::ModelInfo> Store::find_model(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.find_model(id); });
}

std::vector<std::string> Store::unsettled_models() const {
  return impl_->with_reader([](StoreReader& reader) { return reader.unsettled_models(); });
}

std::optional<std::string> Store::model_bytes(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.model_bytes(id); });
}

std::map<std::string, std::uint64_t> Store::model_bytes_by_tenant() const {
  return impl_->with_reader([](StoreReader& reader) { return reader.model_bytes_by_tenant(); });
}

std::optional<std::string> Store::model_tenant(std::string_view id) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.model_tenant(id); });
}

void Store::read_registry(const std::function<void(RegistryReader&)>& read) const {
  impl_->with_reader([&](StoreReader& reader) { return read(reader.registry()), true; });
}

schema::ModelPage Store::list_models(std::int64_t page_size, std::string_view before, const std::optional<std::string>& tenant) const {
  return impl_->with_reader([&](StoreReader& reader) { return reader.list_models(page_size, before, tenant); });
}

}  // namespace kedge::server
