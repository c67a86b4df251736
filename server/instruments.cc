// The families that are computed at each scrape.
#include "server/instruments.h"

namespace kedge::server {

std::string service_text(const JobService& jobs, observe::Gpus& gpus) {
  const Load load = jobs.load();
  observe::Exposition out;
  const auto one = [&](const char* name, const char* help, double value) {
    out.family(name, "gauge", help);
    out.sample({}, value);
  };
  out.family("kedge_jobs", "gauge", "Jobs that have not ended, by state.");
  for (const auto& [state, count] : load.jobs) out.sample({{"state", std::string(state)}}, static_cast<double>(count));
  one("kedge_queue_oldest_seconds", "Age of the job that has waited longest for its data or a worker.", load.oldest_wait_seconds);
  out.family("kedge_workers", "gauge", "Workers by what they do; missing are devices that have none.");
  out.sample({{"state", "idle"}}, static_cast<double>(load.idle_workers));
  out.sample({{"state", "busy"}}, static_cast<double>(load.busy_workers));
  out.sample({{"state", "missing"}}, static_cast<double>(load.missing_devices));
  one("kedge_ready", "1 while the server takes jobs.", jobs.ready() ? 1 : 0);
  one("kedge_store_backlog", "Writes that wait for the job store.", static_cast<double>(load.store_backlog));
  one("kedge_dataset_cache_bytes", "Parsed data sets on disk.", static_cast<double>(load.cache_bytes));
  one("kedge_data_dir_free_bytes", "Bytes that the data directory still takes.", static_cast<double>(load.free_bytes));
  gpus.append(out);
  return out.take();
}

}   // namespace kedge::server
