// Lines of the worker's log.
#include "engine/worker/log.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "schemas/codec.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kTraceAt = 3, kTraceSize = 32;   // of the id in a traceparent

std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)), ms);
}

void write(WorkerLog log, std::string_view message, const schema::RunCommand& run, const std::string& device,
           const std::string& seconds) {
  if (log == WorkerLog::kOff) return;
  schema::ValueMap line;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) line.emplace_back(name, std::move(value));
  };
  add("time", now());
  add("level", "info");
  add("message", std::string(message));
  add("job_id", run.jobId);
  add("trace_id", run.trace.size() > kTraceAt + kTraceSize ? run.trace.substr(kTraceAt, kTraceSize) : std::string());
  add("device", device);
  add("attempt", std::to_string(run.leaseToken));
  add("seconds", seconds);
  std::string text = log == WorkerLog::kJson ? schema::value_to_json(schema::Value(std::move(line))) : std::string();
  if (log == WorkerLog::kText) {
    for (const auto& [name, value] : line) {
      const bool is_bare = name == "time" || name == "level" || name == "message";
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", is_bare ? "" : name + "=", std::get<std::string>(value.data));
    }
  }
  fmt::print(stderr, "{}\n", text);
}

}   // namespace

WorkerLog worker_log(const std::string& name) {
  if (name == "off") return WorkerLog::kOff;
  if (name == "text") return WorkerLog::kText;
  if (name == "json") return WorkerLog::kJson;
  throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("--log is '{}', must be off, text or json", name), "--log");
}

void log_begin(WorkerLog log, const schema::RunCommand& run, const std::string& device) {
  write(log, "run begins", run, device, {});
}

void log_end(WorkerLog log, const schema::RunCommand& run, const std::string& device, double seconds) {
  write(log, "run ends", run, device, fmt::format("{:.6f}", seconds));
}

}   // namespace kedge::engine
