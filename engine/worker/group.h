// A worker of several ranks: how they come together, take commands and end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/comm/mpi.h"
#include "engine/worker/log.h"
#include "engine/worker/rank_files.h"
#include "engine/worker/rank_identity.h"
#include "engine/worker/rank_lines.h"
#include "engine/worker/runner.h"

namespace kedge::engine {

// The ranks of this worker. Resource; of the thread that computes; lives as long as the process.
class RankGroup {
 public:
  // Joins the group and returns when it is whole, at the latest after `deadline`, when the process ends. Errors, on
  // every rank: kDeviceUnavailable where there is no MPI or the ranks are not alike, kUnavailable where they do not
  // reach each other.
  RankGroup(const std::filesystem::path& plugin, std::chrono::seconds deadline);
  RankGroup(const RankGroup&) = delete;
  ~RankGroup() = delete;

  int rank() const { return comm_->rank(); }
  int size() const { return comm_->size(); }
  bool is_first() const { return rank() == 0; }

  // Of the first rank: runs a job with all, or alone where it cannot be dealt, with a warning. As Runner::run().
  bool run(Runner& runner, const schema::RunCommand& command, std::stop_token stop, const Runner::Report& report);
  // Of the others: helps with one job.
  void help(Runner& runner);

 private:
  bool run_alone(Runner& runner, const schema::RunCommand& command, std::stop_token stop, const Runner::Report& report);
  void name_disk(const schema::RunCommand& command, schema::Error& error) const;
  bool run_with_all(Runner& runner, const schema::RunCommand& command, std::stop_token stop,
                    const Runner::Report& report);

  std::unique_ptr<MpiComm> comm_;
  std::string host_;
  std::optional<RankFiles> files_;
  RankLines* lines_ = nullptr;   // ends with the process
};

// The life of a rank. The first connects to kedged's socket, says the token and speaks the protocol of a worker.
// Returns the exit code where the group does not come to be; otherwise the process ends inside.
int serve_rank(const std::string& socket, const std::string& token, const std::filesystem::path& plugin, WorkerLog log);

}   // namespace kedge::engine
