// The device "cluster": a worker of several ranks, which a launcher of MPI starts, and how its first rank comes to the
// server.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "schemas/catalogue.h"

namespace kedge::server {

inline constexpr std::string_view kClusterId = "cluster";

struct ClusterOptions {
  int ranks = 0;                         // 0: there is no such device
  std::string launcher = "mpirun";       // mpirun (of Open MPI), srun or command
  std::string device = "cpu";            // of the ranks: cpu, cuda (a GPU for each) or auto
  std::vector<std::string> hosts = {};   // with mpirun: HOST or HOST:RANKS; empty: this machine
  std::filesystem::path key = {};        // with mpirun: of the hosts' agents, which replace ssh; empty: ssh
  std::string command = {};              // with command: divided at spaces; {ranks} and {worker} are replaced
};

// As a list of devices has it; `missing` says why it cannot be used: no launcher, no plug-in for MPI.
schema::DeviceEntry cluster_entry(const ClusterOptions& options, const std::filesystem::path& worker);

// The launcher's program and arguments; `worker` with its arguments is what each rank runs. Errors: kUnavailable when
// there is no such program.
std::vector<std::string> launch_arguments(const ClusterOptions& options, const std::vector<std::string>& worker);

// A socket for one connection, in a folder for this user alone. Resource; folder and socket go with the object.
class RankSocket {
 public:
  RankSocket();   // Errors: kUnavailable with the system's words
  ~RankSocket();
  RankSocket(const RankSocket&) = delete;
  RankSocket& operator=(const RankSocket&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::string& token() const { return token_; }   // what the first rank must say, once
  // The connection of the first rank; the caller owns it. Errors: kUnavailable when the launcher ends first (`pid_fd`
  // is then readable), when nothing comes within the limit, or at a stop.
  int accept(int pid_fd, std::stop_token stop) const;

 private:
  std::filesystem::path folder_, path_;
  std::string token_;
  int fd_ = -1;
};

// Kills processes of this user on this machine that were started with this token: what a launcher left behind. Returns
// how many there were.
int end_leftovers(const std::string& token);

}   // namespace kedge::server
