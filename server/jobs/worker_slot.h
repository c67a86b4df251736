// One device's place in the server: a thread that starts its worker, feeds it, watches it and replaces it.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/worker.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/worker_process.h"

namespace kedge::server {

struct WorkerOptions {
  WorkerProgram program;
  std::chrono::milliseconds heartbeat_timeout{10'000};   // silence after which a worker is killed
  std::chrono::milliseconds cancel_grace{900};           // from a cancel to the kill
  std::chrono::milliseconds start_timeout{60'000};       // from the start to the first message; CUDA may be cold
};

// How a worker has ended; `how` in words: "signal 6 (Aborted)". `job_begun`: it had taken up the last job that it was given.
struct WorkerLoss {
  std::string how;
  WorkerEnd why = WorkerEnd::kNotStarted;
  bool job_begun = false;
};

// What a slot reports to its owner, on the slot's thread.
class WorkerListener {
 public:
  virtual ~WorkerListener() = default;
  virtual void worker_ready(const schema::DeviceEntry& device) = 0;   // a fresh worker waits for a job
  virtual void worker_event(const std::string& device, schema::EventReport report) = 0;
  virtual void worker_done(const std::string& device, schema::DoneReport report) = 0;
  virtual void worker_failed(const std::string& device, schema::FailedReport report) = 0;
  // It has ended and takes nothing with it but the job that it ran. A new one is on its way.
  virtual void worker_lost(const std::string& device, const WorkerLoss& loss) = 0;
  // It could not be started several times in a row. Attempts go on; worker_ready() takes this back.
  virtual void worker_unavailable(const std::string& device, const std::string& why) = 0;
};

class WorkerSlot {
 public:
  // Starts the thread. `listener` outlives this object.
  WorkerSlot(WorkerOptions options, std::string device, WorkerListener& listener);
  ~WorkerSlot();   // the worker has ended when it returns

  const std::string& device() const { return device_; }
  // Thread safe; none waits. run() only after worker_ready(), done or failed; a cancel of another job than the running one
  // is without effect.
  void run(schema::RunCommand command);
  void cancel(const std::string& job);
  void request_stop();   // ends the worker soon: at once if it runs a job

 private:
  using Clock = std::chrono::steady_clock;
  struct Session;   // the life of one worker process
  struct Retires;

  void loop(std::stop_token stop);
  WorkerLoss live(std::stop_token stop);
  std::string serve(Session& session, std::stop_token stop);
  bool receive(Session& session);
  void send_waiting(Session& session);
  void send(Session& session, schema::WorkerCommand& command);
  void begin(Session& session, const schema::RunCommand& run, const WorkerProcess::Outgoing& outgoing);
  void leave(Session& session);
  void send_later(schema::WorkerCommand command);
  enum class Woken { kByMessage, kByDeath, kOtherwise };
  Woken wait(Session& session, Clock::time_point until);
  Woken listen(Session& session);
  std::chrono::milliseconds allowed_silence(const Session& session) const;
  short poll_for(int fd, int pid_fd, Clock::time_point until, bool& died);
  void wait_before_retry(int failures);
  std::vector<schema::WorkerCommand> take_waiting();

  const WorkerOptions options_;
  const std::string device_;
  WorkerListener& listener_;
  const int wake_fd_;   // an eventfd: commands wait, or the thread must stop
  std::mutex mutex_;    // guards what follows, and what the session knows of its job
  std::vector<schema::WorkerCommand> waiting_;
  Session* idle_ = nullptr;   // whose worker waits for its next job; any thread may send it
  std::jthread thread_;
};

}  // namespace kedge::server
