// The log of the job store: see store_log.h.
#include "server/store/log.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace kedge::server {
namespace {

constexpr int kManyPages = 1000;            // SQLite's own bound
constexpr off_t kLength = 5 << 20;          // of that many pages, and what the last transaction adds
constexpr std::size_t kPiece = 256 << 10;

// Zeros behind a log's end, or instead of one, are no frames to SQLite.
bool lengthen(int fd, off_t from) {
  const std::vector<std::byte> zeros(kPiece);
  while (from < kLength) {
    const ssize_t written = ::pwrite(fd, zeros.data(), static_cast<std::size_t>(std::min<off_t>(kLength - from, kPiece)), from);
    if (written <= 0) return false;
    from += written;
  }
  return ::fdatasync(fd) == 0;
}

}  // namespace

StoreLog::StoreLog(SqliteConnection& connection, const std::filesystem::path& database) : connection_(connection) {
  connection_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864");
  connection_.execute("SELECT 1 FROM sqlite_master");   // from then on there is the file
  sqlite3_wal_hook(
      connection_.handle(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<StoreLog*>(self)->pages_ = pages;
        return SQLITE_OK;
      },
      this);
  const int fd = ::open((database.string() + "-wal").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  struct stat before {};
  if (::fstat(fd, &before) == 0 && !lengthen(fd, before.st_size)) [[maybe_unused]] const int ignored = ::ftruncate(fd, before.st_size);
  ::close(fd);
}

StoreLog::~StoreLog() { sqlite3_wal_hook(connection_.handle(), nullptr, nullptr); }

void StoreLog::tidy() {
  if (pages_ >= kManyPages) sqlite3_wal_checkpoint_v2(connection_.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

}  // namespace kedge::server
