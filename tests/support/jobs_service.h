// A job service with the fake worker and a data set that is always there, and waiting for what it does.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/jobs/job_service.h"

namespace kedge::tests {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "kedge-jobs-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a temporary directory");
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline constexpr std::chrono::seconds kPatience{30};   // far beyond anything that happens, also under a sanitizer

// Something that becomes true in another thread.
class Waiter {
 public:
  void touch() {
    { const std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds patience = kPatience) {
    constexpr std::chrono::milliseconds kStep{20};   // for conditions without a notification
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock(mutex_);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      changed_.wait_for(lock, kStep);
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

inline server::JobServiceOptions service_options(const std::filesystem::path& data_dir, const std::string& worker) {
  server::JobServiceOptions options;
  options.data_dir = data_dir;
  options.worker_program = worker;
  options.validate = [](const schema::JobSpec&, std::stop_token) {};
  options.acquire = [](const schema::DatasetRef&, const std::function<void(schema::EventBody)>&, std::stop_token, const server::DataCaller&) {
    return server::AcquiredDataset{.path = "/dev/null"};
  };
  return options;
}

// `how`: what the fake worker does.
inline schema::JobSpec job_spec(const std::string& how, const std::string& marker = {}, const std::string& device = "auto") {
  schema::JobSpec spec;
  spec.dataset.source = schema::BuiltinRef{"iris"};
  spec.pipeline = {{.estimator = how}};
  if (!marker.empty()) spec.pipeline[0].params = {{"marker", schema::Value(marker)}};
  spec.task = schema::CrossValidate{.cv = 2};
  spec.device = device;
  return spec;
}

// Submits and waits until the job is on disk.
inline schema::Job submit(server::JobService& service, schema::JobSpec spec, const server::SubmitOptions& options = {}) {
  struct State {
    Waiter waiter;
    std::mutex mutex;
    std::optional<schema::Job> job;
    std::optional<schema::Error> error;
  };
  const auto state = std::make_shared<State>();
  service.submit(
      std::move(spec),
      [state](schema::Job job) {
        {
          const std::lock_guard lock(state->mutex);
          state->job = std::move(job);
        }
        state->waiter.touch();
      },
      [state](const schema::Error& error) {
        {
          const std::lock_guard lock(state->mutex);
          state->error = error;
        }
        state->waiter.touch();
      },
      options);
  const bool answered = state->waiter.until([&] {
    const std::lock_guard lock(state->mutex);
    return state->job || state->error;
  });
  if (!answered) throw std::runtime_error("a submit was not answered");
  if (state->error) throw *state->error;
  return *state->job;
}

inline bool wait_for(server::JobService& service, const std::string& id,
                     const std::function<bool(const schema::Job&)>& condition,
                     std::chrono::milliseconds patience = kPatience) {
  Waiter waiter;
  const auto subscription = service.subscribe(id, [&waiter] { waiter.touch(); });
  return waiter.until([&] { return condition(service.find(id).value()); }, patience);
}

inline bool wait_for_state(server::JobService& service, const std::string& id, schema::JobState state) {
  return wait_for(service, id, [&](const schema::Job& job) { return job.state == state; });
}

inline schema::Job wait_for_end(server::JobService& service, const std::string& id) {
  if (!wait_for(service, id, [](const schema::Job& job) { return schema::is_final(job.state); }))
    throw std::runtime_error("job " + id + " did not end: " + std::string(schema::job_state_name(service.find(id)->state)));
  return service.find(id).value();
}

// Children of a process, this one if 0, that have not ended. The supervisor's children are its workers.
inline std::vector<pid_t> children(pid_t parent = 0) {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    char state = 0;
    int ppid = 0;   // "pid (name) state ppid ..."
    const std::size_t end = text.rfind(')');
    if (end == std::string::npos || std::sscanf(text.c_str() + end + 1, " %c %d", &state, &ppid) != 2) continue;
    if (ppid == (parent ? parent : ::getpid()) && state != 'Z') pids.push_back(std::stoi(name));
  }
  return pids;
}

inline bool is_alive(pid_t pid) {   // a zombie is not
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

// "queued fetching running progress metric timing result succeeded"
inline std::string story(const server::JobService& service, const std::string& id) {
  std::string text;
  for (const schema::Event& event : service.events(id, 0, 100'000)) {
    const auto* state = std::get_if<schema::StateEvent>(&event.body);
    text += text.empty() ? "" : " ";
    text += state ? schema::job_state_name(state->state) : schema::event_name(event.body);
  }
  return text;
}

}  // namespace kedge::tests
