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
#include "schemas/job.h"
#include "schemas/model.h"

namespace kedge::engine {

// The table of the last run, left on the device with its bins for the next run on the same data file with the same
// selection. Belongs to one device and one data file: its holder clears it when either changes.
struct WarmTable {
  Selection selection;
  std::shared_ptr<Table<float>> f32;    // at most one of the two is set; shared with the run that uses it
  std::shared_ptr<Table<double>> f64;
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

  // Loads the selected part of the data to the device, runs the task, returns scores, fitted attributes and timings (from the
  // load on; `queued`, `download`, `parse` belong to the server). Emits progress, metric, timing and log events through ctx.
  // `warm`, if given, saves the load where it fits and holds this run's table afterwards.
  // Errors: kBadData (NaN with its row and column, one class, more folds than rows), kCancelled, kOutOfMemory.
  // `files`, if given: where a fit, and a search with refit, leaves its model; an estimator that cannot be stored is a warning.
  schema::Result run(const Context& ctx, const DatasetFile& data, WarmTable* warm = nullptr, RunFiles* files = nullptr) const;

 private:
  struct Impl;
  explicit Pipeline(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
