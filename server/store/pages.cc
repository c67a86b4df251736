// Checksums of pages: see store_pages.h. Follows the idea of SQLite's cksumvfs.c, which Debian does not build.
#include "server/store/pages.h"

#include <sqlite3.h>

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "engine/faults/fail_point.h"

namespace kedge::server {
namespace {

constexpr const char* kName = "kedge-checked-pages";
constexpr int kSmallestPage = 512, kReservedAt = 20;   // of the file's header: how many bytes each page leaves free
constexpr std::size_t kMostGathered = 64 << 10;   // SQLite writes less than 128 KiB at once

sqlite3_vfs* system_files() {
  return sqlite3_vfs_find(nullptr);
}

struct State {
  sqlite3_file* real = nullptr;
  bool is_database = false, is_log = false, has_checksums = false;
  std::int64_t damaged_page = 0;
  std::vector<unsigned char> page;       // being written
  std::vector<unsigned char> gathered;   // of a log: what was written to it and is not in the file yet
  sqlite3_int64 gathered_at = 0;
};

struct CheckedFile {
  sqlite3_file base;
  State* state;   // SQLite owns this memory and runs no constructors
};

State& state_of(sqlite3_file* file) {
  return *reinterpret_cast<CheckedFile*>(file)->state;
}
sqlite3_file* real_of(sqlite3_file* file) {
  return state_of(file).real;
}

// Each step is a bijection of the sum so far, so every change of a single word is seen; the offset shows swapped pages.
std::uint64_t checksum(const unsigned char* page, int size, sqlite3_int64 offset) {
  std::uint64_t sum = 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(offset);
  for (int at = 0; at < size - kChecksumBytes; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, page + at, sizeof word);
    sum = (sum ^ word) * 0xff51afd7ed558ccdu;
    sum ^= sum >> 32;
  }
  return sum;
}

void note_header(State& state, const void* bytes, int size, sqlite3_int64 offset) {
  if (offset == 0 && size > kReservedAt)
    state.has_checksums = static_cast<const unsigned char*>(bytes)[kReservedAt] == kChecksumBytes;
}

bool is_page(const State& state, int size, sqlite3_int64 offset) {
  return state.is_database && state.has_checksums && size >= kSmallestPage && (size & (size - 1)) == 0 && offset % size == 0;
}

// What has been gathered goes into the file. After an error it is forgotten: SQLite takes back the transaction.
int settle(State& state) {
  if (state.gathered.empty()) return SQLITE_OK;
  const int code = state.real->pMethods->xWrite(state.real, state.gathered.data(), static_cast<int>(state.gathered.size()), state.gathered_at);
  state.gathered.clear();
  return code;
}

// SQLite writes a log in pieces, two for each page. They wait for the sync that ends each transaction, before which no other connection looks for them.
int gather(State& state, const void* bytes, int size, sqlite3_int64 offset) {
  const bool follows = offset == state.gathered_at + static_cast<sqlite3_int64>(state.gathered.size());
  if (!follows || state.gathered.size() + static_cast<std::size_t>(size) > kMostGathered)
    if (const int code = settle(state); code != SQLITE_OK) return code;
  if (state.gathered.empty()) state.gathered_at = offset;
  const auto* first = static_cast<const unsigned char*>(bytes);
  try {
    state.gathered.insert(state.gathered.end(), first, first + size);
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

int close_file(sqlite3_file* file) {
  const std::unique_ptr<State> state(reinterpret_cast<CheckedFile*>(file)->state);
  const int settled = settle(*state), closed = state->real->pMethods->xClose(state->real);
  sqlite3_free(state->real);
  return settled == SQLITE_OK ? closed : settled;
}

int read_file(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  State& state = state_of(file);
  if (const int code = settle(state); code != SQLITE_OK) return code;
  const int code = state.real->pMethods->xRead(state.real, bytes, size, offset);
  if (code != SQLITE_OK || !state.is_database) return code;
  note_header(state, bytes, size, offset);
  if (!is_page(state, size, offset) || KEDGE_CONTROL("trust-the-store")) return code;
  const auto* page = static_cast<const unsigned char*>(bytes);
  const std::uint64_t sum = checksum(page, size, offset);
  if (std::memcmp(page + size - kChecksumBytes, &sum, sizeof sum) == 0) return code;
  state.damaged_page = offset / size + 1;
  return SQLITE_IOERR_DATA;
}

int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  State& state = state_of(file);
  if (state.is_log) return gather(state, bytes, size, offset);
  if (state.is_database) note_header(state, bytes, size, offset);
  if (!is_page(state, size, offset)) return state.real->pMethods->xWrite(state.real, bytes, size, offset);
  const auto* page = static_cast<const unsigned char*>(bytes);
  state.page.assign(page, page + size);
  const std::uint64_t sum = checksum(page, size, offset);
  std::memcpy(state.page.data() + size - kChecksumBytes, &sum, sizeof sum);
  return state.real->pMethods->xWrite(state.real, state.page.data(), size, offset);
}

int control_file(sqlite3_file* file, int operation, void* argument) {
  if (operation == kDamagedPage) {
    *static_cast<std::int64_t*>(argument) = state_of(file).damaged_page;
    return SQLITE_OK;
  }
  return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

// Calls the real file's method of the same name.
template <auto Method, class... Arguments>
auto forward(sqlite3_file* file, Arguments... arguments) {
  sqlite3_file* real = real_of(file);
  return (real->pMethods->*Method)(real, arguments...);
}

// The same, of a file that has all that was written to it.
template <auto Method, class... Arguments>
int settle_and_forward(sqlite3_file* file, Arguments... arguments) {
  const int code = settle(state_of(file));
  return code == SQLITE_OK ? forward<Method>(file, arguments...) : code;
}

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 2,   // 3 would map the file into memory, past the checks
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = settle_and_forward<&sqlite3_io_methods::xTruncate, sqlite3_int64>,
    .xSync = settle_and_forward<&sqlite3_io_methods::xSync, int>,
    .xFileSize = settle_and_forward<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = forward<&sqlite3_io_methods::xLock, int>,
    .xUnlock = forward<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = forward<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = control_file,
    .xSectorSize = forward<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = forward<&sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = forward<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = forward<&sqlite3_io_methods::xShmLock, int, int, int>,
    .xShmBarrier = forward<&sqlite3_io_methods::xShmBarrier>,
    .xShmUnmap = forward<&sqlite3_io_methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* opened_flags) {
  file->pMethods = nullptr;   // until it is open, SQLite closes nothing
  sqlite3_vfs* system = system_files();
  auto* real = static_cast<sqlite3_file*>(sqlite3_malloc(system->szOsFile));
  if (!real) return SQLITE_NOMEM;
  std::memset(real, 0, static_cast<std::size_t>(system->szOsFile));
  const int code = system->xOpen(system, name, real, flags, opened_flags);
  if (code != SQLITE_OK) {
    if (real->pMethods) real->pMethods->xClose(real);
    sqlite3_free(real);
    return code;
  }
  reinterpret_cast<CheckedFile*>(file)->state = new State{.real = real, .is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0,
                                                             .is_log = (flags & SQLITE_OPEN_WAL) != 0};
  file->pMethods = &kMethods;
  return SQLITE_OK;
}

// The system's own, except its files.
sqlite3_vfs make_vfs() {
  sqlite3_vfs vfs{};
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(CheckedFile);
  vfs.mxPathname = system_files()->mxPathname;
  vfs.zName = kName;
  vfs.xOpen = open_file;
  vfs.xDelete = [](sqlite3_vfs*, const char* name, int sync) { return system_files()->xDelete(system_files(), name, sync); };
  vfs.xAccess = [](sqlite3_vfs*, const char* name, int flags, int* out) {
    return system_files()->xAccess(system_files(), name, flags, out);
  };
  vfs.xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* out) {
    return system_files()->xFullPathname(system_files(), name, size, out);
  };
  vfs.xRandomness = [](sqlite3_vfs*, int size, char* out) { return system_files()->xRandomness(system_files(), size, out); };
  vfs.xSleep = [](sqlite3_vfs*, int us) { return system_files()->xSleep(system_files(), us); };
  vfs.xCurrentTime = [](sqlite3_vfs*, double* now) { return system_files()->xCurrentTime(system_files(), now); };
  vfs.xGetLastError = [](sqlite3_vfs*, int size, char* out) { return system_files()->xGetLastError(system_files(), size, out); };
  return vfs;
}

}   // namespace

const char* checked_pages() {
  static sqlite3_vfs vfs = make_vfs();   // SQLite keeps its address forever
  static const int registered = sqlite3_vfs_register(&vfs, /*makeDflt=*/0);
  return registered == SQLITE_OK ? kName : nullptr;
}

}   // namespace kedge::server
