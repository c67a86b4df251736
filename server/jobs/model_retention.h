// How many bytes of models are kept: a thread that removes those of jobs that were used longest ago when there are too many.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/jobs/job_files.h"
#include "server/jobs/service_limits.h"
#include "server/store/periodic_sweep.h"
#include "server/store/store.h"

namespace kedge::server {

// Models that were uploaded or are registered are not counted and stay. Thread safe.
class ModelRetention {
 public:
  // `remove` deletes a model; it may block and may throw schema::Error. Store and files outlive this object.
  ModelRetention(const Store& store, const JobFiles& files, ModelBounds bounds, std::function<void(const std::string& id)> remove);

  // Now, by a question, a download or a job. Kept as the file's time of access, so that a restart does not forget it.
  static void note_use(const std::filesystem::path& file) noexcept;

  // For the next sweep, which comes soon.
  void set_bounds(ModelBounds bounds) { periodic_.set_options(bounds); }
  void sweep();   // what the thread does at each interval

 private:
  struct Kept;
  std::vector<Kept> kept_models(ModelBounds bounds) const;   // those of jobs, used longest ago first

  const Store& store_;
  const JobFiles& files_;
  const std::function<void(const std::string&)> remove_;
  PeriodicSweep<ModelBounds> periodic_;   // last: its thread uses the others
};

}  // namespace kedge::server
