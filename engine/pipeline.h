// A pipeline: built from a job's description, run on a data set, gone when the job is.
#pragma once

#include <memory>

#include "engine/core/context.h"
#include "engine/core/dataset_file.h"
#include "schemas/job.h"

namespace kedge::engine {

class Pipeline {
 public:
  // Checks everything that can be checked without data: estimators, parameters, task, scorers, select, device's spelling.
  // The only validator of the project. Errors carry `where` from the root of the spec: "pipeline[1].params.n_estimators".
  // Cost: microseconds; needs no device.
  static Pipeline build(const schema::JobSpec& spec);
  Pipeline(Pipeline&&) noexcept;
  ~Pipeline();

  // Loads the selected part of the data to the device, runs the task, returns scores, fitted attributes and timings (from the
  // load on; `queued`, `download`, `parse` belong to the server). Emits progress, metric, timing and log events through ctx.
  // Errors: kBadData (NaN with its row and column, one class, more folds than rows), kCancelled, kOutOfMemory.
  schema::Result run(const Context& ctx, const DatasetFile& data) const;

 private:
  struct Impl;
  explicit Pipeline(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
