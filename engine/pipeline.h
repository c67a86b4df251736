// A pipeline: built from a job's description, run on a data set, and destroyed with the job.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/core/context.h"
#include "engine/core/dataset_file.h"
#include "engine/estimators/samples.h"
#include "engine/table/selection.h"
#include "engine/table/warm_tables.h"
#include "schemas/job.h"
#include "schemas/model.h"

namespace kedge::engine {

// Where a run looks for its table, and leaves it for later ones.
struct Warm {
  WarmTables* tables = nullptr;   // of the run's device; null: none
  std::string data = {};          // names the content of the run's data file
};

// Files that a run reads and writes in addition to its data set.
struct RunFiles {
  std::filesystem::path model_file;               // for the fitted pipeline; empty: it is not written
  std::string data_digest;                        // for the model's description
  std::size_t keep = 0;                           // bytes of a model that is returned rather than written
  std::optional<schema::ModelInfo> model = {};    // of the model that the run has made
  std::string model_bytes = {};                   // the model, if it is so small
};

class Pipeline {
 public:
  // Checks everything that can be checked without data: estimators, parameters, task, scorers, select, device's spelling.
  // The only validator of the project. Errors carry `where` from the root of the spec: "pipeline[1].params.n_estimators".
  // Cost: that of check_job(); needs no device. Errors: kCancelled when stopped.
  static Pipeline build(const schema::JobSpec& spec, std::stop_token stop = {});
  Pipeline(Pipeline&&) noexcept;
  ~Pipeline();

  // Loads the selected part of the data to the device, runs the task, returns scores, fitted attributes and timings
  // (from the load on; `queued`, `download`, `parse` belong to the server). Emits progress, metric, timing and log
  // events through ctx. `warm` saves the load where it has the table, and holds this run's table afterwards. Errors:
  // kBadData (NaN with its row and column, one class, more folds than rows), kCancelled, kOutOfMemory. `files`, if
  // given: where a fit, and a search with refit, leaves its model; an estimator that cannot be stored is a warning.
  schema::Result run(const Context& ctx, const DatasetFile& data, const Warm& warm = {},
                     RunFiles* files = nullptr) const;

 private:
  struct Impl;
  explicit Pipeline(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
