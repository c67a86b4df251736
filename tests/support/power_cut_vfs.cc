// A SQLite file system for power cuts: see power_cut_vfs.h.
#include "tests/support/power_cut_vfs.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

namespace kedge::tests {
namespace {

using Operation = PowerCutVfs::Operation;
using Kind = Operation::Kind;

constexpr std::size_t kSector = 512;

// SQLite's handle, with the system's own behind it in the same block of memory.
struct File {
  sqlite3_file base;
  PowerCutVfs* vfs;
  char name[64];
  bool is_recorded;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File& of(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}

template <auto Method, class... Args>
int forward(sqlite3_file* file, Args... args) {
  sqlite3_file* real = of(file).real();
  return (real->pMethods->*Method)(real, args...);
}

int close(sqlite3_file* file) {
  return forward<&sqlite3_io_methods::xClose>(file);
}

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  if (of(file).is_recorded) of(file).vfs->record({Kind::kWrite, of(file).name, offset, {bytes, bytes + size}});
  return forward<&sqlite3_io_methods::xWrite>(file, data, size, offset);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (of(file).is_recorded) of(file).vfs->record({Kind::kTruncate, of(file).name, size, {}});
  return forward<&sqlite3_io_methods::xTruncate>(file, size);
}

int sync(sqlite3_file* file, int) {   // nothing here needs the real disk to be slow
  if (of(file).is_recorded && of(file).vfs->obeys_sync()) of(file).vfs->record({Kind::kSync, of(file).name, 0, {}});
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods = {
    .iVersion = 2,   // without memory maps: their writes could not be seen
    .xClose = close,
    .xRead = forward<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = forward<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = forward<&sqlite3_io_methods::xLock, int>,
    .xUnlock = forward<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = forward<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = forward<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = forward<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = [](sqlite3_file*) { return 0; },   // promises nothing
    .xShmMap = forward<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = forward<&sqlite3_io_methods::xShmLock, int, int, int>,
    .xShmBarrier = [](sqlite3_file* file) { of(file).real()->pMethods->xShmBarrier(of(file).real()); },
    .xShmUnmap = forward<&sqlite3_io_methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr};

PowerCutVfs& owner(sqlite3_vfs* vfs) {
  return *static_cast<PowerCutVfs*>(vfs->pAppData);
}

std::string base_name(const char* path) {
  return path ? std::filesystem::path(path).filename().string() : std::string();
}

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  File& opened = of(file);
  opened.base.pMethods = nullptr;
  opened.vfs = &owner(vfs);
  opened.is_recorded = (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
  std::snprintf(opened.name, sizeof opened.name, "%s", base_name(path).c_str());
  sqlite3_vfs* system = owner(vfs).system();
  const int code = system->xOpen(system, path, opened.real(), flags, out_flags);
  if (code == SQLITE_OK) opened.base.pMethods = &kMethods;
  return code;
}

int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  owner(vfs).record({Kind::kDelete, base_name(path), 0, {}});
  sqlite3_vfs* system = owner(vfs).system();
  return system->xDelete(system, path, sync_directory);
}

}  // namespace

PowerCutVfs::PowerCutVfs(std::string name, bool obey_sync)
    : name_(std::move(name)), obey_sync_(obey_sync), system_(sqlite3_vfs_find(nullptr)), vfs_(*system_) {
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + system_->szOsFile;
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  sqlite3_vfs_register(&vfs_, /*makeDflt=*/1);
}

PowerCutVfs::~PowerCutVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(system_, 1);
}

std::size_t PowerCutVfs::count() const {
  const std::lock_guard lock(mutex_);
  return operations_.size();
}

std::vector<Operation> PowerCutVfs::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

void PowerCutVfs::record(Operation operation) {
  const std::lock_guard lock(mutex_);
  operations_.push_back(std::move(operation));
}

void CutDisk::apply(const Operation& operation) {
  File& file = files_[operation.file];
  if (operation.kind == Kind::kDelete) {
    files_.erase(operation.file);
  } else if (operation.kind != Kind::kSync) {
    file.pending.push_back(operation);
  } else {
    for (const Operation& pending : std::exchange(file.pending, {})) put(file.durable, pending, 0, pending.bytes.size());
  }
}

void CutDisk::put(std::vector<std::uint8_t>& bytes, const Operation& operation, std::size_t from, std::size_t size) {
  const auto offset = static_cast<std::size_t>(operation.offset);
  if (operation.kind == Kind::kTruncate) return bytes.resize(std::min(bytes.size(), offset));
  bytes.resize(std::max(bytes.size(), offset + from + size));
  std::copy_n(operation.bytes.begin() + static_cast<std::ptrdiff_t>(from), size,
              bytes.begin() + static_cast<std::ptrdiff_t>(offset + from));
}

void CutDisk::write_to(const std::filesystem::path& folder) {
  for (auto& [name, file] : files_) {
    std::vector<std::uint8_t> bytes = file.durable;
    for (const Operation& pending : file.pending) {
      if (pending.kind == Kind::kTruncate && dice_() % 2 == 0) put(bytes, pending, 0, 0);
      for (std::size_t from = 0; pending.kind == Kind::kWrite && from < pending.bytes.size(); from += kSector)
        if (dice_() % 2 == 0) put(bytes, pending, from, std::min(kSector, pending.bytes.size() - from));
    }
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

}  // namespace kedge::tests
