// The tasks predict and transform: a stored model and the rows of a data set.
#pragma once

#include <filesystem>

#include "engine/core/dataset_file.h"
#include "engine/model/stored_model.h"
#include "schemas/job.h"

namespace kedge::engine {

// Writes predictions.npy or .csv (of transform: transformed) into output_dir, on disk when it returns, and names it in
// the result. Ranks of the job divide the rows, and the first writes. Errors: those of StoredModel::answer();
// kOutOfMemory with both numbers where the answer cannot fit; kInvalidValue for more rows than the data set has;
// kInternal with the system's words.
schema::Result run_model_task(const Context& ctx, const schema::JobSpec& spec, StoredModel& model, const DatasetFile& data,
                              const std::filesystem::path& output_dir);

}   // namespace kedge::engine
