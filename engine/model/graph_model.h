// A program on columns, of a graph of ONNX or a model of CatBoost, as a stored model.
#pragma once

#include <memory>

#include "engine/core/state_archive.h"
#include "engine/imported/cell_program.h"
#include "engine/model/stored_model.h"

namespace kedge::engine {

bool is_program(const schema::ModelInfo& info);

// Describes the program, which is written or read. Errors when loading: kModelCorrupt.
void archive_program(StateArchive& archive, const schema::ModelInfo& info, CellProgram& program);

// The description has been checked but for its step. Errors: kModelCorrupt.
std::unique_ptr<StoredModel> load_program(const Context& ctx, const ModelFile& file);

}   // namespace kedge::engine
