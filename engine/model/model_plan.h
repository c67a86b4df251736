// The cost of a prediction by a stored model: its memory is found before anything is computed, and rows are predicted
// in tiles, so that it stays small.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "engine/memory/memory_plan.h"
#include "engine/model/stored_model.h"

namespace kedge::engine {

// What one rank of a job has of a question that ranks divide.
struct RankShare {
  std::int64_t n_rows = 0;   // that it answers
  bool collects = false;     // the answers of all come to it
};

// A question to a model. Borrows for the call.
struct ModelQuestion {
  const schema::ModelInfo& model;
  std::int64_t n_rows = 0;            // of the whole job
  std::string_view output;            // one of model.outputs
  std::int64_t rows_held_bytes = 0;   // of the source, in addition to the tiles
  std::int64_t mapped_bytes = 0;      // of the data file
  bool is_host = false;               // the device is the CPU
  std::int64_t tile = 0;              // rows that are asked at once; 0: those of tile_rows()
  std::optional<RankShare> share = {};   // where ranks divide it; the bytes above are then of its rows
};

// Rows of a tile: with what the steps make of them they take about 256 MiB; at least 256 rows. Found from the model's
// description alone, so that answers do not depend on the free memory.
std::int64_t tile_rows(const schema::ModelInfo& model);

// The answer for all rows, or for the rank's own where others collect it, and one tile at work.
MemoryPlan plan_answer(const ModelQuestion& question);

// Rows begin .. end - 1 of n_rows.
struct AskedRows {
  std::int64_t n_rows = 0, begin = 0, end = 0;
};

// rows(first, count) gives the rows first .. first + count - 1. At least one row is asked. Errors: those of
// StoredModel::answer() and rows(); kCancelled.
using RowsOf = std::function<ModelRows(std::int64_t first, std::int64_t count)>;
ModelAnswer answer_in_tiles(const Context& ctx, StoredModel& model, const AskedRows& asked, std::int64_t tile,
                            std::string_view output, const RowsOf& rows);

// Appends the answer to later rows, of n_rows in all; one without rows is left out.
void append_answer(ModelAnswer part, std::int64_t n_rows, ModelAnswer& all);

// The same for rows that are there already, refused (kOutOfMemory, with both numbers) where the answer cannot fit.
ModelAnswer answer_rows(const Context& ctx, StoredModel& model, const ModelRows& rows, std::string_view output);

}   // namespace kedge::engine
