// A worker of several ranks: how they come together, take commands and end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

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
  // Joins the group, opens this rank's device and returns when the group is whole, at the latest after `deadline`, when
  // the process ends. `device`: as devices_of_ranks() takes it. Errors, on every rank: kDeviceUnavailable where there
  // is no MPI, the ranks are not alike or one has no such device, kUnavailable where they do not reach each other.
  RankGroup(const std::filesystem::path& plugin, std::string_view device, std::chrono::seconds deadline);
  RankGroup(const RankGroup&) = delete;
  ~RankGroup() = delete;

  int rank() const { return comm_->rank(); }
  int size() const { return comm_->size(); }
  bool is_first() const { return rank() == 0; }
  Device& device() const { return *device_; }   // of this rank
  const std::string& device_id() const { return device_id_; }

  // Of the first rank: runs a job with all, or alone where it cannot be dealt, with a warning. As Runner::run().
  bool run(Runner& runner, const schema::RunCommand& command, std::stop_token stop, const Runner::Report& report);
  // Of the others: helps with one job. Where a rank's device cannot be trusted any more, the first rank ends, and with
  // it all.
  void help(Runner& runner);

 private:
  bool run_alone(Runner& runner, const schema::RunCommand& command, std::stop_token stop, const Runner::Report& report);
  void name_disk(const schema::RunCommand& command, schema::Error& error) const;
  bool run_with_all(Runner& runner, const schema::RunCommand& command, std::stop_token stop,
                    const Runner::Report& report);
  bool all_are_well(bool is_well);

  std::unique_ptr<MpiComm> comm_;
  std::string host_;
  std::string device_id_;
  std::unique_ptr<Device> device_;
  std::optional<RankFiles> files_;
  RankLines* lines_ = nullptr;   // ends with the process
};

// The life of a rank. The first connects to kedged's socket, says the token and speaks the protocol of a worker.
// Returns the exit code where the group does not come to be; otherwise the process ends inside.
int serve_rank(const std::string& socket, const std::string& token, const std::filesystem::path& plugin,
               std::string_view device, WorkerLog log);

}   // namespace kedge::engine
