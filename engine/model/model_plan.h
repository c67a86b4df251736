// What it takes to ask a stored model: memory told before anything is computed, and rows asked in tiles so that it stays small.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/memory/memory_plan.h"
#include "engine/model/stored_model.h"

namespace kedge::engine {

// A question to a model. Borrows for the call.
struct ModelQuestion {
  const schema::ModelInfo& model;
  std::int64_t n_rows = 0;
  std::string_view output;            // one of model.outputs
  std::int64_t rows_held_bytes = 0;   // of the source, beside the tiles
  std::int64_t mapped_bytes = 0;      // of the data file
  bool is_host = false;               // the device is the CPU
};

// Rows that the model is asked together: some 256 MiB of what its steps make of them, at least 256. Of the model's description
// alone, so that answers do not depend on the memory that is free.
std::int64_t tile_rows(const schema::ModelInfo& model);

// The answer for all rows, and one tile at work.
MemoryPlan plan_answer(const ModelQuestion& question);

// rows(first, count) gives the rows first .. first + count - 1. Errors: those of StoredModel::answer() and rows(); kCancelled.
using RowsOf = std::function<ModelRows(std::int64_t first, std::int64_t count)>;
ModelAnswer answer_in_tiles(const Context& ctx, StoredModel& model, std::int64_t n_rows, std::int64_t tile,
                            std::string_view output, const RowsOf& rows);

// The same for rows that are there already, refused (kOutOfMemory, with both numbers) where the answer cannot fit.
ModelAnswer answer_rows(const Context& ctx, StoredModel& model, const ModelRows& rows, std::string_view output);

}   // namespace kedge::engine
