// The files of a job, on ranks whose machines do not have them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/worker/rank_identity.h"

namespace kedge::engine {

// Ranks open files by the paths that the first rank has from kedged. Where a path leads to no file of the first rank's
// size and time of change, the machine is sent a copy, once for all its ranks; the last few copies are kept, so that
// the next job on the same data finds them. They have no name, and end with the ranks. Borrows the communicator.
class RankFiles {
 public:
  using Say = std::function<void(std::string line)>;
  using LetGo = std::function<void()>;

  // `ranks`: of the whole group; those of one place see the same files.
  RankFiles(Comm& comm, std::vector<RankIdentity> ranks) : comm_(comm), ranks_(std::move(ranks)) {}
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;
  ~RankFiles();

  // Collective, with as many paths on every rank. On return each path names a file with the bytes of the first rank's;
  // one that the first rank does not have stays as it is, and opening it will say why. Copies are written to TMPDIR,
  // else /var/tmp. `stop` counts on the first rank, `say` tells there what is sent. Where a disk is full and copies of
  // earlier jobs are on some rank, `let_go` ends their other uses, they are given up, and the rest is tried again once.
  // Errors, the same on every rank:
  // kCancelled, and kStorageFull or kUnavailable with the rank, its host and the folder of the copy.
  void bring(std::span<std::string* const> paths, const std::stop_token& stop, const Say& say,
             const LetGo& let_go = {});

 private:
  // What tells one file from another without reading it, in the first rank's words.
  struct Label {
    std::int64_t size = -1, modified_ns = 0;   // -1: there is no such file
    std::string path;
    friend bool operator==(const Label&, const Label&) = default;
  };
  struct Kept {
    Label label;
    int file;
  };

  bool give_up_copies(const LetGo& let_go);
  void bring_one(std::string& path, const std::stop_token& stop, const Say& say);
  void copy_from_first(const Label& wanted, bool has_it, const std::vector<char>& lacks, const std::stop_token& stop);
  Label label_of_first(const std::string& path);
  int receiver_of_own_place(const std::vector<char>& lacks) const;
  std::optional<schema::Error> send(const std::string& path, std::int64_t size, const std::stop_token& stop);
  std::optional<schema::Error> receive(int file);
  void agree(const std::optional<schema::Error>& own);
  schema::Error failure(const char* what, int error, const std::string& where = {}) const;
  void keep(Label label, int file);
  const Kept* kept(const Label& label) const;

  Comm& comm_;
  const std::vector<RankIdentity> ranks_;
  std::deque<Kept> kept_;   // the newest first
};

}   // namespace kedge::engine
