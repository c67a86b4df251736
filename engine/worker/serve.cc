// Three threads: the caller's takes commands and computes, one looks out for commands meanwhile, one sends heartbeats.
#include "engine/worker/serve.h"

#include <fmt/core.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <thread>
#include <vector>

#include "engine/backend/loader.h"
#include "engine/core/gpu_memory.h"
#include "engine/core/process_memory.h"
#include "engine/version.h"
#include "engine/worker/commands.h"
#include "engine/worker/confine.h"
#include "engine/worker/group.h"
#include "engine/worker/runner.h"

namespace kedge::engine {
namespace {

using schema::Error;

constexpr std::chrono::seconds kHeartbeat{1};
constexpr std::size_t kMostQuestions = 256;   // that are answered together

void send(WorkerChannel& channel, const schema::WorkerReport& report, WorkerChannel::When when = WorkerChannel::When::kNow) {
  if (!channel.send(report, when)) std::_Exit(EXIT_SUCCESS);   // without destructors: see commands.cc
}

schema::DeviceEntry entry_of(const DeviceInfo& info) {
  const std::string id = info.kind == DeviceKind::kCuda ? fmt::format("cuda:{}", info.index) : "cpu";
  return {.id = id, .name = info.name, .driver = info.driver, .threads = info.threads, .memoryBytes = info.memory_bytes};
}

void send_heartbeats(WorkerChannel& channel, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, stop, kHeartbeat, [] { return false; }) && !stop.stop_requested()) {
    send(channel, {schema::HeartbeatReport{}});
  }
}

// Answers wait for the last of them, so that kedged wakes once, or for the lookout (commands.h) where that takes long.
bool answer_all(Runner& runner, const std::vector<PendingRun>& questions, WorkerChannel& channel) {
  std::vector<const schema::AskCommand*> commands;
  for (const PendingRun& question : questions) commands.push_back(&std::get<schema::AskCommand>(question.command));
  std::size_t n_said = 0;
  return runner.answer(commands, [&](const schema::WorkerReport& message) {
    send(channel, message, ++n_said < commands.size() ? WorkerChannel::When::kWithNext : WorkerChannel::When::kNow);
  });
}

// The main loop. Never returns: the lookout borrows what lives here.
[[noreturn]] void run_jobs(Device& device, const std::string& device_id, WorkerChannel& channel, WorkerLog log,
                           RankGroup* group) {
  Commands& commands = *new Commands(channel);
  try {
    Runner runner(device);
    const auto report = [&](const schema::WorkerReport& message) {
      const bool is_event = std::holds_alternative<schema::EventReport>(message.body);
      send(channel, message, is_event ? WorkerChannel::When::kWithNext : WorkerChannel::When::kNow);
    };
    const bool is_bounded = device.info().kind == DeviceKind::kCpu;
    while (true) {
      if (is_bounded) renew_memory_bound();
      const std::vector<PendingRun> next = commands.next(kMostQuestions);
      const auto* run = std::get_if<schema::RunCommand>(&next.front().command);
      const auto start = std::chrono::steady_clock::now();
      if (run) log_begin(log, *run, device_id);
      const auto run_one = [&] {
        const std::stop_token stop = next.front().stop.get_token();
        return group ? group->run(runner, *run, stop, report) : runner.run(*run, stop, report);
      };
      const bool is_well = run ? run_one() : answer_all(runner, next, channel);
      if (run) log_end(log, *run, device_id, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      if (!is_well) break;
      if (!run) continue;
      give_back_memory(device);
    }
  } catch (const std::exception& error) {   // a report that could not be sent
    fmt::print(stderr, "kedge-worker: {}\n", error.what());
  }
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void confine_rank() {
  if (const std::string why = deny_system_calls(NetworkUse::kKept); !why.empty())
    fmt::print(stderr, "kedge-worker: jobs on this rank can start programs: seccomp: {}\n", why);
}

void give_back_memory(Device& device) {
  give_back_freed_memory();
  if (GpuMemory* const memory = gpu_memory(device.memory())) memory->trim();
}

void serve_group(RankGroup& group, WorkerChannel& channel, WorkerLog log) {
  const std::jthread heartbeats([&](std::stop_token stop) { send_heartbeats(channel, stop); });
  confine_rank();
  schema::DeviceEntry entry = entry_of(group.device().info());
  entry.name = fmt::format("{} ranks, {}", group.size(), entry.name);
  send(channel, {schema::HelloReport{std::move(entry), kVersion}});
  run_jobs(group.device(), group.device_id(), channel, log, &group);
}

int serve(const std::string& device_id, WorkerChannel& channel, std::int64_t memory_limit, WorkerLog log) {
  const std::jthread heartbeats([&](std::stop_token stop) { send_heartbeats(channel, stop); });   // opening a GPU may take seconds
  std::unique_ptr<Device> device;
  try {
    device = open_device(device_id);
  } catch (const Error& error) {
    fmt::print(stderr, "kedge-worker: {}\n", error.what());
    send(channel, {schema::FailedReport{0, error}});
    return EXIT_FAILURE;
  }
  if (memory_limit > 0 && device->info().kind == DeviceKind::kCpu) limit_memory(memory_limit);
  // After the device is open, because a driver may start programs of its own; before the first job is seen.
  if (const std::string why = deny_system_calls(); !why.empty())
    fmt::print(stderr, "kedge-worker: jobs on {} can use the network and start programs: seccomp: {}\n", device_id, why);
  send(channel, {schema::HelloReport{entry_of(device->info()), kVersion}});
  run_jobs(*device, device_id, channel, log, nullptr);
}

}  // namespace kedge::engine
