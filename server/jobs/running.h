// The third part of a job's life: it waits for a worker and runs there, again if the worker dies.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/worker.h"
#include "server/jobs/devices.h"
#include "server/jobs/job_files.h"
#include "server/jobs/job_table.h"
#include "server/jobs/publishing.h"
#include "server/jobs/supervisor.h"

namespace kedge::server {

// Jobs whose computation has ended go on to Publishing. Thread safe.
class Running final : public SupervisorListener {
 public:
  // `has_room` is called, under the table's lock, when one more job may get its data ready. All outlive this object.
  Running(JobTable& table, Publishing& publishing, const JobFiles& files,
          std::function<void(const TableLock&)> has_room)
      : table_(table), publishing_(publishing), files_(files), has_room_(std::move(has_room)) {}

  // Lists devices and starts workers, on a thread. `devices`: to run workers for; empty: all.
  void start(const TableLock&, const WorkerOptions& workers, const std::vector<std::string>& devices);
  // After JobTable::begin_stop(). Workers have ended when it returns, and what is being published has ended its job.
  void stop();
  // Blocks until no worker has a job, at most so long.
  void wait_until_idle(std::chrono::milliseconds patience);

  void add(const TableLock&, const JobPointer& job);   // it has its data and waits for a worker
  // Of a job that runs: its worker reports the end, or is killed. With fail_late() the job fails for its deadline.
  void cancel(const TableLock&, const ActiveJob& job);
  void fail_late(const TableLock&, const JobPointer& job);
  void fail_impossible(const TableLock&);   // jobs in the queue that no device of this host can serve

  const std::vector<schema::DeviceEntry>& devices(const TableLock&) const { return devices_.entries(); }
  // Empty: a device serves the wish, or it is not known yet.
  std::string missing_reason(const TableLock&, std::string_view wish) const;
  void count(const TableLock&, Load& load) const;   // sets the workers and the missing devices

  // What workers report, on service threads.
  void devices_known(const std::vector<schema::DeviceEntry>& devices) override;
  void worker_ready(const schema::DeviceEntry& device) override;
  void worker_event(const std::string& device, schema::EventReport report) override;
  void worker_done(const std::string& device, schema::DoneReport report) override;
  void worker_failed(const std::string& device, schema::FailedReport report) override;
  void worker_lost(const std::string& device, const WorkerLoss& loss) override;
  void worker_unavailable(const std::string& device, const std::string& why) override;

 private:
  struct Worker {
    bool idle = false;
    JobPointer job;   // that it runs
  };

  void start_runs(const TableLock&);
  void start_run(const TableLock&, const JobPointer& job, const std::string& device, Worker& worker);
  schema::RunCommand command_for(const ActiveJob& job) const;
  JobPointer take_job(const TableLock&, const std::string& device, std::int64_t lease);
  JobPointer take_finished(const std::string& device, schema::DoneReport& report);
  void charge(const TableLock&, ActiveJob& job);
  void survive_loss(const TableLock&, const JobPointer& job, const std::string& device, const WorkerLoss& loss);
  void retry(const TableLock&, const JobPointer& job, bool crashed, schema::Error why);

  JobTable& table_;
  Publishing& publishing_;
  const JobFiles& files_;
  const std::function<void(const TableLock&)> has_room_;

  // Guarded by the table's lock.
  bool devices_known_ = false;
  DeviceTable devices_;
  std::map<std::string, Worker> workers_;   // by device
  std::condition_variable worker_freed_;
  std::unique_ptr<Supervisor> supervisor_;   // null before start() and after stop()
};

}   // namespace kedge::server
