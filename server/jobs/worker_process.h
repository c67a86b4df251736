// Child processes: a worker with its channel, and the short run that lists the devices.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/worker/channel.h"
#include "schemas/catalogue.h"
#include "schemas/codec.h"
#include "server/jobs/cluster.h"
#include "server/jobs/worker_folder.h"

namespace kedge::server {

struct WorkerProgram {
  std::filesystem::path file;
  std::filesystem::path temporary;   // where each worker gets a directory of its own; empty: the system's
  std::string log = "off";           // of the worker's runs, to stderr: text, json or off
  std::int64_t memory_bytes = 0;     // address space of a worker without a GPU; 0: no bound
  ClusterOptions cluster = {};       // how a worker of several ranks is started
};

// One kedge-worker, in a process group of its own, with the other end of the channel as descriptor 3 and nothing else
// open beyond the standard three. Its environment has what a computation may need and nothing of the server's own. It
// has a folder of its own, the only one in which a worker without a GPU may open files (engine/worker/confine.h); files
// that it is to read are lent with the command. The kernel kills it when the thread that made it ends (the worker sets
// that itself).
// The worker of the device "cluster" is the launcher of its ranks (cluster.h). Its channel leads to the first of them.
// The ranks open what they read by its path, and end when the channel closes.
class WorkerProcess {
 public:
  // Errors: kUnavailable when the program cannot be started; ranks: also when the first of them does not come, or at a
  // stop.
  WorkerProcess(const WorkerProgram& program, const std::string& device, std::stop_token stop = {});
  ~WorkerProcess();   // kills it if it still runs, and reaps it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  engine::WorkerChannel& channel() { return *channel_; }
  // A command as it goes to the worker: encoded, with the files that it may read.
  struct Outgoing {
    FilesToLend files;
    std::vector<std::byte> bytes;
    explicit Outgoing(schema::WorkerCommand& command, FilesToLend::How how)
        : files(command, how), bytes(schema::to_binary(command)) {}
  };
  // Has the run's output come to the worker's own folder: the command's paths are changed. Any number of times for one command.
  Outgoing prepare(schema::WorkerCommand& command);
  // False when the worker has ended. Errors: kBodyTooLarge beyond what a message may have; nothing is sent then.
  bool send(const Outgoing& outgoing, engine::WorkerChannel::When when = engine::WorkerChannel::When::kNow);
  void deliver() noexcept {   // the output of the run that has ended
    if (folder_) folder_->deliver();
  }
  pid_t pid() const { return pid_; }
  int pid_fd() const { return pid_fd_; }   // readable once the process has ended; -1 where the kernel has none
  // Kills the process group if need be (ranks first get a moment to end in order), waits for the process, and returns
  // how it ended: "exit code 3", "signal 6 (Aborted)".
  std::string end();

 private:
  void start_worker(const WorkerProgram& program, const std::string& device);
  void start_ranks(const WorkerProgram& program, std::stop_token stop);
  void end_ranks() noexcept;

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  std::unique_ptr<WorkerFolder> folder_;   // none where the program names no place for it
  std::unique_ptr<engine::WorkerChannel> channel_;
  std::unique_ptr<RankSocket> socket_;   // of ranks
};

// Runs `program --list-devices --json`. Never throws: what went wrong is an entry with `missing` set.
schema::DeviceList list_devices(const std::filesystem::path& program, std::stop_token stop);

}  // namespace kedge::server
