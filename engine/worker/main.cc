// kedge-worker: the process that owns one device. Started by kedged; by hand it lists devices.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdlib>

#include "engine/backend/loader.h"
#include "engine/core/process_memory.h"
#include "engine/version.h"
#include "engine/worker/cluster_check.h"
#include "engine/worker/confine.h"
#include "engine/worker/failpoint.h"
#include "engine/worker/group.h"
#include "engine/worker/rank_device.h"
#include "engine/worker/serve.h"
#include "schemas/codec.h"

namespace {

using namespace kedge;

std::string line_of(const schema::DeviceEntry& device) {
  if (!device.missing.empty()) return fmt::format("{:<8} not available: {}", device.id, device.missing);
  constexpr double kGib = 1 << 30;
  const std::string driver = device.driver.empty() ? "" : ", driver " + device.driver;
  return fmt::format("{:<8} {}, {} threads, {:.1f} GiB{}", device.id, device.name, device.threads,
                     static_cast<double>(device.memoryBytes) / kGib, driver);
}

void print_devices(bool as_json) {
  const schema::DeviceList list = engine::list_devices();
  if (as_json) {
    fmt::print("{}\n", schema::to_json(list));
    return;
  }
  for (const schema::DeviceEntry& device : list.devices) fmt::print("{}\n", line_of(device));
}

// An old kernel, or a container that forbids it: the other bounds still hold.
void warn_unless_confined(const std::string& why) {
  if (!why.empty()) fmt::print(stderr, "kedge-worker: jobs can open files of this user: Landlock: {}\n", why);
}

// The launcher starts it, so that no kedged's thread is its parent: its lines to the others say when it is to end
// (rank_lines.h).
int run_rank(std::string socket, const std::filesystem::path& mpi, const std::string& device, engine::WorkerLog log) {
  constexpr std::string_view kUnix = "unix:";
  const char* const token = std::getenv("KEDGE_CHANNEL_TOKEN");
  if (!socket.starts_with(kUnix) || !token)
    throw schema::Error(schema::ErrorCode::kInvalidValue, "--channel needs unix:PATH, and KEDGE_CHANNEL_TOKEN");
  engine::keep_freed_memory();
  ::signal(SIGINT, SIG_IGN);
  return engine::serve_rank(socket.substr(kUnix.size()), token, mpi.empty() ? engine::usual_mpi_plugin() : mpi, device,
                            log);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs the jobs of a kedged on one device.");
  bool list = false, as_json = false, check_cluster = false;
  std::string log = "off";
  std::string device = "cpu";
  int fd = 3;
  std::int64_t memory_limit = 0;
  std::string files, socket, mpi;
  app.add_flag("--list-devices", list, "List the devices of this machine and say why others are missing");
  app.add_flag("--json", as_json, "With --list-devices and --cluster-check: as JSON");
  app.add_option("--device", device,
                 "Device to own: cpu, cuda or cuda:N; as a rank: cpu, cuda (a GPU for each) or auto")
      ->capture_default_str();
  app.add_option("--fd", fd, "Descriptor of the socket that leads to kedged")->capture_default_str();
  app.add_option("--memory-limit", memory_limit, "Bytes that a job may have, on a worker without a GPU; 0: no bound")->capture_default_str();
  app.add_option(
      "--files", files,
      "The only folder whose files it may open, on a worker without a GPU; without this option, all files of this user");
  app.add_option(
      "--channel", socket,
      "As a rank of a group that a launcher of MPI started: unix:PATH of kedged's socket, to which rank 0 connects");
  app.add_option(
      "--mpi", mpi,
      "With --channel or --cluster-check: the plug-in for the site's MPI (default libkedge_mpi.so beside this program)");
  app.add_flag("--cluster-check", check_cluster,
               "As a rank of a group that a launcher of MPI started: compare the ranks, measure, and end");
  app.add_option("--log", log, "Lines to stderr when a run begins and ends: off, text or json")->capture_default_str();
  app.set_version_flag("--version", kVersion);
  CLI11_PARSE(app, argc, argv);
  try {
    if (list) {
      print_devices(as_json);
      return EXIT_SUCCESS;
    }
    if (check_cluster || !socket.empty()) engine::check_device_wish(device);
    if (check_cluster)
      engine::check_cluster(mpi.empty() ? engine::usual_mpi_plugin() : std::filesystem::path(mpi), device, as_json);
    if (!socket.empty()) return run_rank(socket, mpi, device, engine::worker_log(log));
    engine::leave_network();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    engine::limit_resources();
    if (device == "cpu" && !files.empty() && !engine::failpoint_has_a_file()) warn_unless_confined(engine::confine_files(files));
    engine::keep_freed_memory();
    ::signal(SIGINT, SIG_IGN);   // Ctrl-C goes to the whole group; kedged decides when its workers end
    engine::WorkerChannel channel(fd);
    return engine::serve(device, channel, memory_limit, engine::worker_log(log));
  } catch (const std::exception& error) {
    fmt::print(stderr, "kedge-worker: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
