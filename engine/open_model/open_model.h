// The open form of a stored model: a ZIP that every language reads, in place of Kedge's own file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/core/model_file.h"

namespace kedge::engine {

inline constexpr int kOpenModelVersion = 1;

// Members are stored, not packed, and have no time, so that equal models are equal files:
//   model.json   {"format": "kedge.model", "version": 1, "info": the ModelInfo, "state": [record, ...]}
//   N.NAME.npy   the numbers of record N
// A record is {"name", "type", "value"}, or, with numbers, {"name", "type", "rows", "cols", "file"}. Records come in
// the order in which the estimators name their members; "n_features" begins each step. Replaces the file `zip`. Errors:
// kModelCorrupt; kInternal with the system's words.
void write_open_model(const ModelFile& model, const std::filesystem::path& zip);

// The bytes of the model file that the open form stands for. What the members say is not checked: StoredModel::load()
// does that. `scratch` is a file that may be written meanwhile. Errors: kModelCorrupt, "open model: ..." for what is no
// such ZIP, for members that are packed, missing, of another type or size than model.json says.
std::string read_open_model(std::string_view zip, const std::filesystem::path& scratch);

}   // namespace kedge::engine
