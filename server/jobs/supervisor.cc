// The workers: see supervisor.h.
#include "server/jobs/supervisor.h"

#include "engine/core/memory_reserve.h"
#include "engine/faults/fail_point.h"
#include "server/jobs/devices.h"
#include "server/jobs/worker_process.h"

namespace kedge::server {

Supervisor::Supervisor(WorkerOptions options, std::vector<std::string> allowed, SupervisorListener& listener)
    : options_(std::move(options)), allowed_(std::move(allowed)), listener_(listener) {
  starter_ = std::jthread([this](std::stop_token stop) { start(stop); });
}

Supervisor::~Supervisor() {
  starter_.request_stop();
  starter_.join();
  for (auto& [device, slot] : slots_) slot->request_stop();   // all at once, then each is waited for
}

void Supervisor::start(std::stop_token stop) {
  const engine::UsesReserve reserve;
  KEDGE_FAIL_POINT("worker.list.before");
  std::vector<schema::DeviceEntry> devices = list_devices(options_.program.file, stop).devices;
  std::vector<std::string> allowed = allowed_;
  if (const ClusterOptions& cluster = options_.program.cluster; cluster.ranks > 0) {   // configured, and so allowed
    devices.push_back(cluster_entry(cluster, options_.program.file));
    if (!allowed.empty()) allowed.emplace_back(kClusterId);
  }
  const DeviceTable table(std::move(devices), allowed);
  KEDGE_FAIL_POINT("worker.list.after");
  if (stop.stop_requested()) return;
  listener_.devices_known(table.entries());
  const std::lock_guard lock(mutex_);
  for (const std::string& device : table.usable())
    slots_[device] = std::make_unique<WorkerSlot>(options_, device, listener_);
}

WorkerSlot* Supervisor::slot(const std::string& device) {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(device);
  return found == slots_.end() ? nullptr : found->second.get();
}

void Supervisor::run(const std::string& device, schema::RunCommand command) {
  if (WorkerSlot* worker = slot(device)) worker->run(std::move(command));
}

void Supervisor::cancel(const std::string& device, const std::string& job) {
  if (WorkerSlot* worker = slot(device)) worker->cancel(job);
}

}  // namespace kedge::server
