// The workers: finds out what devices there are, and keeps one worker for each.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/jobs/worker_slot.h"

namespace kedge::server {

class SupervisorListener : public WorkerListener {
 public:
  // Once, before any worker_ready().
  virtual void devices_known(const std::vector<schema::DeviceEntry>& devices) = 0;
};

class Supervisor {
 public:
  // Returns at once; devices are listed and workers started on a thread. `allowed`: devices to run workers for; empty: all.
  // `listener` outlives this object.
  Supervisor(WorkerOptions options, std::vector<std::string> allowed, SupervisorListener& listener);
  ~Supervisor();   // workers have ended when it returns; the listener may hear from them until then

  // As WorkerSlot's; for a device that was reported ready.
  void run(const std::string& device, schema::RunCommand command);
  void cancel(const std::string& device, const std::string& job);

 private:
  void start(std::stop_token stop);
  WorkerSlot* slot(const std::string& device);

  const WorkerOptions options_;
  const std::vector<std::string> allowed_;
  SupervisorListener& listener_;
  std::mutex mutex_;   // guards slots_; never held while the listener is called
  std::map<std::string, std::unique_ptr<WorkerSlot>> slots_;
  std::jthread starter_;
};

}  // namespace kedge::server
