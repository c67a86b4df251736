// A SQLite file system that remembers every write and sync, so that any moment of a run can be made the last before a power cut.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace kedge::tests {

// Everything goes to the system's own file system as well. Register one, open the store, and ask for disks afterwards. The shared
// memory file is not recorded: SQLite makes it anew.
class PowerCutVfs {
 public:
  struct Operation {
    enum class Kind { kWrite, kTruncate, kSync, kDelete } kind;
    std::string file;           // name without its folder
    sqlite3_int64 offset = 0;   // of a write; the size, of a truncation
    std::vector<std::uint8_t> bytes;
  };

  // `obey_sync` false: the control. Syncs are swallowed, as by a disk that lies or by PRAGMA synchronous = OFF.
  PowerCutVfs(std::string name, bool obey_sync);
  ~PowerCutVfs();
  PowerCutVfs(const PowerCutVfs&) = delete;

  std::size_t count() const;   // operations so far
  std::vector<Operation> operations() const;
  void record(Operation operation);
  bool obeys_sync() const { return obey_sync_; }
  sqlite3_vfs* system() const { return system_; }

 private:
  const std::string name_;
  const bool obey_sync_;
  sqlite3_vfs* system_;
  sqlite3_vfs vfs_{};
  mutable std::mutex mutex_;
  std::vector<Operation> operations_;
};

// The files as a power cut may leave them: what was synced, and of every later write each 512 bytes only perhaps.
class CutDisk {
 public:
  explicit CutDisk(std::uint32_t seed) : dice_(seed) {}
  void apply(const PowerCutVfs::Operation& operation);
  void write_to(const std::filesystem::path& folder);   // cuts the power

 private:
  struct File {
    std::vector<std::uint8_t> durable;
    std::vector<PowerCutVfs::Operation> pending;   // since the last sync
  };
  static void put(std::vector<std::uint8_t>& bytes, const PowerCutVfs::Operation& operation, std::size_t from, std::size_t size);
  std::mt19937 dice_;
  std::map<std::string, File> files_;
};

}  // namespace kedge::tests
