// A worker of several ranks: see group.h.
#include "engine/worker/group.h"

#include <fmt/core.h>
#include <omp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "engine/comm/counted.h"
#include "engine/comm/ranks.h"
#include "engine/core/process_memory.h"
#include "engine/job/dealt.h"
#include "engine/worker/group_deadline.h"
#include "engine/worker/rank_device.h"
#include "engine/worker/serve.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::milliseconds kSilence{15'000};

// Ranks of one machine divide its cores, unless the operator has said how many threads each has.
void divide_cores(std::span<const RankIdentity> ranks, const RankIdentity& own) {
  if (std::getenv("OMP_NUM_THREADS")) return;
  const auto here = std::ranges::count(ranks, own.place, &RankIdentity::place);
  omp_set_num_threads(std::max(1, omp_get_num_procs() / static_cast<int>(here)));
}

int connect_socket(const std::string& path, const std::string& token) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path)
    throw Error(ErrorCode::kUnavailable, fmt::format("the path of the socket is too long: {}", path));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_connected = fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!is_connected || ::send(fd, token.data(), token.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(token.size()))
    throw Error(ErrorCode::kUnavailable, fmt::format("rank 0 must be on the machine of kedged: {}: {}", path,
                                                     std::generic_category().message(errno)));
  return fd;
}

// What a job reads: its data, and the stored model that it asks. A model that it makes is written by the first rank.
std::vector<std::string*> files_of(schema::RunCommand& command) {
  std::vector<std::string*> files{&command.dataPath};
  if (schema::model_of(command.spec.task)) files.push_back(&command.modelPath);
  return files;
}

// What tests/bench/ranks.py reads.
std::string counts_text(const CommCounts& counts) {
  return fmt::format("the first rank brought {} bytes to {} sums of all ranks and {} bytes to {} exchanges",
                     counts.summed_bytes, counts.sums, counts.moved_bytes, counts.moves);
}

}   // namespace

RankGroup::RankGroup(const std::filesystem::path& plugin, std::string_view device, std::chrono::seconds deadline) {
  const GroupDeadline watch(deadline, "the ranks did not all come together");
  comm_ = open_mpi(plugin);
  const RankIdentity own = identity_of_this_rank(comm_->library());
  std::vector<RankIdentity> ranks = gather_identities(*comm_, own);
  if (const auto why = difference(ranks)) throw Error(ErrorCode::kDeviceUnavailable, *why);
  divide_cores(ranks, own);
  host_ = own.host;
  const std::vector<std::string> devices = devices_of_ranks(ranks, device);
  device_id_ = devices[static_cast<std::size_t>(rank())];
  device_ = open_own_device(*comm_, ranks, devices);
  files_.emplace(*comm_, std::move(ranks));
  lines_ = new RankLines(*comm_, own.place, kSilence);
}

bool RankGroup::run(Runner& runner, const schema::RunCommand& command, std::stop_token stop,
                    const Runner::Report& report) {
  if (size() == 1) return runner.run(command, std::move(stop), report);
  return job_is_dealt(command.spec, device()) ? run_with_all(runner, command, std::move(stop), report)
                                              : run_alone(runner, command, std::move(stop), report);
}

// The first rank alone writes what a job leaves. The message goes to the client, which must not learn where the server
// keeps its files; the folder goes to the log.
void RankGroup::name_disk(const schema::RunCommand& command, Error& error) const {
  if (error.code != ErrorCode::kStorageFull) return;
  error.message = fmt::format("rank {} on {}: {}", rank(), host_, error.message);
  fmt::print(stderr, "kedge-worker: {}: job {}, of {}\n", error.message, command.jobId,
             command.outputDir.empty() ? command.modelPath : command.outputDir);
}

bool RankGroup::run_alone(Runner& runner, const schema::RunCommand& command, std::stop_token stop,
                          const Runner::Report& report) {
  const std::string line =
      fmt::format("this job runs on one of {} ranks: {} are dealt, other fits are not", size(),
                  device().traits().uses_host_memory
                      ? "searches, cross-validations, predictions, forests and sums over rows"
                      : "on GPUs searches, cross-validations, predictions, forests and some sums over rows");
  report({schema::EventReport{command.leaseToken, schema::LogEvent{"warning", line}}});
  return runner.run(command, std::move(stop), [&](schema::WorkerReport said) {
    if (auto* done = std::get_if<schema::DoneReport>(&said.body))
      done->result.warnings.insert(done->result.warnings.begin(), line);
    if (auto* failed = std::get_if<schema::FailedReport>(&said.body)) name_disk(command, failed->error);
    report(std::move(said));
  });
}

// An illegal access leaves a GPU's rank of no use; the job's error may be another's.
bool RankGroup::all_are_well(bool is_well) {
  std::int64_t all = is_well;
  comm_->all_reduce(std::span(&all, 1), IntegerOp::kMin);
  return all != 0;
}

bool RankGroup::run_with_all(Runner& runner, const schema::RunCommand& command, std::stop_token stop,
                             const Runner::Report& report) {
  lines_->wake();
  comm_->all_gather(schema::to_binary(schema::WorkerCommand{command}));
  schema::RunCommand sent = command;
  std::optional<Error> error;
  try {
    files_->bring(
        files_of(sent), stop,
        [&](std::string line) {
          report({schema::EventReport{command.leaseToken, schema::LogEvent{"info", std::move(line)}}});
        },
        [&] { runner.forget(); });
  } catch (const Error& failure) {
    error = failure;
  }
  CountedComm counted(*comm_);
  Ranks ranks(counted);
  std::optional<schema::WorkerReport> last;
  bool is_well = true;
  if (!error) {
    const std::stop_callback cancel_all(stop, [this] { lines_->cancel(); });
    const RanksScope scope(&ranks);
    is_well = runner.run(command, stop, [&](schema::WorkerReport said) {
      const bool ends = std::holds_alternative<schema::DoneReport>(said.body) ||
                        std::holds_alternative<schema::FailedReport>(said.body);
      if (!ends) return report(std::move(said));
      if (auto* failed = std::get_if<schema::FailedReport>(&said.body)) {
        name_disk(command, failed->error);
        error = failed->error;
      }
      last = std::move(said);
    });
    error = ranks.end(error);
    is_well = all_are_well(is_well);
    report({schema::EventReport{command.leaseToken, schema::LogEvent{"info", counts_text(counted.counts())}}});
  }
  report(error ? schema::WorkerReport{schema::FailedReport{command.leaseToken, *error}} : std::move(*last));
  return is_well;
}

void RankGroup::help(Runner& runner) {
  const std::stop_token stop = lines_->wait_for_wake();
  const PartedBytes sent = comm_->all_gather({});
  auto command = std::get<schema::RunCommand>(schema::from_binary<schema::WorkerCommand>(sent.part(0)).body);
  if (!schema::model_of(command.spec.task)) command.modelPath.clear();   // the first rank writes
  command.outputDir.clear();
  try {
    files_->bring(files_of(command), stop, {}, [&] { runner.forget(); });
  } catch (const Error&) {
    return;   // the first rank has the same, and reports it
  }
  Ranks ranks(*comm_);
  std::optional<Error> error;
  bool is_well = true;
  {
    const RanksScope scope(&ranks);
    is_well = runner.run(command, stop, [&](const schema::WorkerReport& said) {
      if (const auto* failed = std::get_if<schema::FailedReport>(&said.body)) error = failed->error;
    });
  }
  ranks.end(error);
  all_are_well(is_well);   // the first rank ends where one is not
}

int serve_rank(const std::string& socket, const std::string& token, const std::filesystem::path& plugin,
               std::string_view device, WorkerLog log) {
  constexpr std::chrono::seconds kDeadline{30};
  const char* rank = nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (!rank) rank = std::getenv(name);
  const bool is_first =
      !rank || std::string_view(rank) == "0";   // known before MPI is, so that its failure is reported
  std::optional<WorkerChannel> channel;
  try {
    if (is_first) channel.emplace(connect_socket(socket, token));
    RankGroup& group = *new RankGroup(plugin, device, kDeadline);
    if (group.is_first()) serve_group(group, *channel, log);
    Runner runner(group.device());
    confine_rank();
    while (true) {
      if (group.device().info().kind == DeviceKind::kCpu) renew_memory_bound();
      group.help(runner);
      give_back_memory(group.device());
    }
  } catch (const Error& error) {
    fmt::print(stderr, "kedge-worker: {}\n", error.message);
    if (channel) channel->send(schema::WorkerReport{schema::FailedReport{0, error}});
    return EXIT_FAILURE;
  }
}

}   // namespace kedge::engine
