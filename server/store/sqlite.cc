// A thin layer over SQLite: see store_sqlite.h.
#include "server/store/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cerrno>

#include "engine/core/disk_error.h"
#include "schemas/error.h"
#include "server/store/pages.h"

namespace kedge::server {
namespace {

bool blames_the_disk(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_PERM:
    case SQLITE_NOLFS:
      return true;
    default:
      return false;
  }
}

bool means_full(sqlite3* db, int code) {
  return (code & 0xff) == SQLITE_FULL || ((code & 0xff) == SQLITE_IOERR && sqlite3_system_errno(db) == ENOSPC);
}

[[noreturn]] void fail(sqlite3* db, int code) {
  const char* file = sqlite3_db_filename(db, "main");
  std::string text = fmt::format("job store {}: {} ({})", file ? engine::shown(file) : "", sqlite3_errmsg(db), sqlite3_errstr(code));
  std::int64_t page = 0;
  if (code == SQLITE_IOERR_DATA && sqlite3_file_control(db, "main", kDamagedPage, &page) == SQLITE_OK)
    text = fmt::format("the store {} is damaged: page {} is not as it was written", file ? file : "", page);
  if (means_full(db, code)) throw schema::Error(schema::ErrorCode::kStorageFull, text);
  throw schema::Error(blames_the_disk(code) ? schema::ErrorCode::kUnavailable : schema::ErrorCode::kInternal, text);
}

}  // namespace

SqliteConnection::SqliteConnection(const std::filesystem::path& file, Mode mode) {
  const int flags = mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(file.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, checked_pages());
  if (code != SQLITE_OK) {
    const std::string text = fmt::format("cannot open the job store {}: {}", engine::shown(file), sqlite3_errmsg(db_));
    sqlite3_close(db_);
    throw schema::Error(schema::ErrorCode::kUnavailable, text);
  }
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, 5000);
  int reserved = kChecksumBytes;   // of a new file; another's is what it is
  if (mode == Mode::kReadWrite) sqlite3_file_control(db_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
}

SqliteConnection::~SqliteConnection() { sqlite3_close_v2(db_); }

void SqliteConnection::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(db_, code);
}

bool SqliteConnection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

SqliteStatement::SqliteStatement(SqliteConnection& connection, std::string_view sql) : connection_(connection) {
  check(sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                           &statement_, nullptr));
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

void SqliteStatement::check(int code) const {
  if (code != SQLITE_OK) fail(connection_.handle(), code);
}

void SqliteStatement::bind(int index, std::int64_t value) { check(sqlite3_bind_int64(statement_, index, value)); }
void SqliteStatement::bind(int index, std::string_view value) {
  check(sqlite3_bind_text64(statement_, index, value.data() ? value.data() : "", value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}
void SqliteStatement::bind(int index, std::span<const std::byte> value) {
  check(sqlite3_bind_blob64(statement_, index, value.data(), value.size(), SQLITE_TRANSIENT));
}
void SqliteStatement::bind_null(int index) { check(sqlite3_bind_null(statement_, index)); }

SqliteStatement::Rows::~Rows() { sqlite3_reset(statement_.statement_); }

bool SqliteStatement::Rows::next() {
  const int code = sqlite3_step(statement_.statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(statement_.connection_.handle(), code);
  return false;
}

std::int64_t SqliteStatement::Rows::integer(int column) const {
  return sqlite3_column_int64(statement_.statement_, column);
}

std::string SqliteStatement::Rows::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.statement_, column));
  return data ? std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.statement_, column)))
              : std::string();
}

std::span<const std::byte> SqliteStatement::Rows::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.statement_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.statement_, column))};
}

bool SqliteStatement::Rows::is_null(int column) const {
  return sqlite3_column_type(statement_.statement_, column) == SQLITE_NULL;
}

}  // namespace kedge::server
