// A worker that computes nothing and misbehaves on request: the first step's estimator name says how. For tests of
// supervision.
//
//   Succeed          a few events and a result, of a fit a model of a few bytes      Fail            kBadData
//   CrashOnce        aborts, unless the file params.marker is there; leaves it      CrashAlways
//   WaitForCancel    until cancelled                        IgnoreCancel    forever
//   Mute             no heartbeat, no answer                Flood           10,000 progress events
//   StaleToken       says things under an old lease before the right ones
//   Hold             until the file params.marker is there                           Tick      an event a second until
//   cancelled
//
// Environment: KEDGE_FAKE_DEVICES (JSON for --list-devices), KEDGE_FAKE_LIST_GATE (which waits until that file is
// there), KEDGE_FAKE_HOW (in place of the estimator's name), KEDGE_FAKE_START=crash (dies before its first message).
// Any file is a model for it. A question to one is answered with its own body, once the file KEDGE_FAKE_ASK_GATE is
// there, if that is set.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "engine/worker/channel.h"
#include "schemas/codec.h"

namespace kedge {
namespace {

constexpr int kChannelFd = 3;
constexpr std::chrono::milliseconds kHeartbeat{50};

class FakeWorker {
 public:
  explicit FakeWorker(std::string device) : channel_(kChannelFd), device_(std::move(device)) {}

  int serve() {
    say(schema::HelloReport{.device = {.id = device_, .name = "fake"}, .version = "0"});
    const std::jthread heart([this](std::stop_token stop) { beat(stop); });
    while (auto command = channel_.receive<schema::WorkerCommand>()) {
      if (const auto* run = std::get_if<schema::RunCommand>(&command->body)) {
        cancelled_ = false;
        job_ = std::jthread([this, run = *run] { work(run); });
      } else if (std::holds_alternative<schema::CancelCommand>(command->body)) {
        cancelled_ = true;
        cancelled_.notify_all();
      } else if (const auto* question = std::get_if<schema::AskCommand>(&command->body)) {
        answer(*question);
      } else {
        break;
      }
    }
    std::_Exit(0);
  }

 private:
  void answer(const schema::AskCommand& question) {
    const char* gate = std::getenv("KEDGE_FAKE_ASK_GATE");
    while (gate && !question.output.empty() && !std::filesystem::exists(gate)) std::this_thread::sleep_for(kHeartbeat);
    say(schema::AnswerReport{.leaseToken = question.leaseToken, .body = question.body});
  }

  template <class Report>
  void say(Report report) {
    channel_.send(schema::WorkerReport{std::move(report)});
  }

  void beat(std::stop_token stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    while (!never.wait_for(lock, stop, kHeartbeat, [] { return false; }) && !stop.stop_requested())
      if (!mute_) say(schema::HeartbeatReport{});
  }

  static schema::Result result_of(const schema::RunCommand& run) {
    return {.scores = {{"accuracy", {.perFold = {0.5, 1.0}, .mean = 0.75, .std = 0.25}}},
            .classes = {run.jobId},
            .nSamples = 150,
            .device = {.kind = "cpu", .name = "fake"},
            .seed = 42};
  }

  static std::string marker(const schema::RunCommand& run) {
    for (const auto& [name, value] : run.spec.pipeline.at(0).params)
      if (name == "marker") return std::get<std::string>(value.data);
    return {};
  }

  void events(std::int64_t lease) {
    say(schema::EventReport{lease, schema::ProgressEvent{.phase = "fold", .done = 1, .total = 1, .unit = "folds"}});
    say(schema::EventReport{lease, schema::MetricEvent{.name = "accuracy", .value = 0.5, .fold = 0}});
    say(schema::EventReport{lease, schema::TimingEvent{.phase = "fit", .seconds = 0.1, .fold = 0}});
  }

  void work(const schema::RunCommand& run) {
    const char* always = std::getenv("KEDGE_FAKE_HOW");
    const std::string how = always ? always : run.spec.pipeline.at(0).estimator;
    const std::int64_t lease = run.leaseToken;
    if (how == "CrashAlways") std::abort();
    if (how == "CrashOnce" && !std::filesystem::exists(marker(run))) {
      std::ofstream(marker(run)) << "crashed";
      std::abort();
    }
    if (how == "Mute") mute_ = true;
    if (how == "Mute" || how == "IgnoreCancel")
      while (true) ::pause();
    if (how == "WaitForCancel") {
      cancelled_.wait(false);
      return say(schema::FailedReport{lease, schema::Error(schema::ErrorCode::kCancelled, "cancelled")});
    }
    for (int i = 0; how == "Tick" && !cancelled_; ++i) {
      say(schema::EventReport{lease, schema::MetricEvent{.name = "tick", .value = static_cast<double>(i)}});
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    if (how == "Fail") return say(schema::FailedReport{lease, schema::Error(schema::ErrorCode::kBadData, "one class only")});
    if (how == "Hold")
      while (!std::filesystem::exists(marker(run))) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (how == "StaleToken") {
      events(lease - 1);
      say(schema::DoneReport{lease - 1, {.warnings = {"stale"}}});
      say(schema::FailedReport{lease + 1, schema::Error(schema::ErrorCode::kInternal, "stale")});
    }
    for (int i = 0; how == "Flood" && i < 10'000; ++i)
      say(schema::EventReport{lease, schema::ProgressEvent{.phase = "trees", .done = i, .total = 10'000, .unit = "trees"}});
    events(lease);
    schema::DoneReport done{lease, result_of(run)};
    if (std::holds_alternative<schema::Fit>(run.spec.task)) done.model.emplace(), done.modelBytes = "the model of " + run.jobId;
    say(std::move(done));
  }

  engine::WorkerChannel channel_;
  const std::string device_;
  std::atomic<bool> cancelled_ = false, mute_ = false;
  std::jthread job_;
};

int list_devices() {
  if (const char* gate = std::getenv("KEDGE_FAKE_LIST_GATE"))
    while (!std::filesystem::exists(gate)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const char* given = std::getenv("KEDGE_FAKE_DEVICES");
  std::puts(given ? given : R"({"devices":[{"id":"cpu","name":"fake"},{"id":"cuda","missing":"no NVIDIA driver"}]})");
  return 0;
}

}  // namespace
}  // namespace kedge

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--list-devices") return kedge::list_devices();
  if (mode != "--device" || argc < 3) return 64;
  if (const char* start = std::getenv("KEDGE_FAKE_START"); start && std::string(start) == "crash") return 9;
  return kedge::FakeWorker(argv[2]).serve();
}
