// Model files of other programs: what they are, by their content, and what they become.
#pragma once

#include <optional>
#include <string_view>

#include "engine/imported/cell_program.h"
#include "engine/imported/tree_ensemble.h"
#include "schemas/model.h"

namespace kedge::engine {

// The step of a stored model that holds imported trees. It is in no catalogue, for it cannot be fitted.
inline constexpr const char* kTreeEnsemble = "TreeEnsemble";
// The same of a graph of ONNX.
inline constexpr const char* kOnnxGraph = "OnnxGraph";
inline constexpr const char* kCatBoostTrees = "CatBoostTrees";   // a program, too

struct ImportedModel {
  schema::ModelInfo info;   // columns, classes, dtype, pipeline, outputs; the rest is empty
  TreeEnsemble trees;
  std::optional<CellProgram> program;   // of a graph of ONNX and of CatBoost, instead of `trees`
};

// Whether a file begins like one of XGBoost (JSON, UBJSON), LightGBM (text), CatBoost (JSON) or ONNX.
bool is_foreign_model(std::string_view file);

// Errors: kModelCorrupt with the place of what is malformed; kInvalidValue for a kind of model that is not taken
// (gblinear, linear trees, several values in a leaf, unknown objectives, operators of ONNX), by name. Nothing is
// trusted: memory is bounded by 64 bytes for each byte given, time is linear but for a sort.
ImportedModel import_model(std::string_view file);

ImportedModel import_xgboost(const schema::Value& document);
ImportedModel import_lightgbm(std::string_view text);
bool is_catboost(const schema::Value& document);
ImportedModel import_catboost(const schema::Value& document);
ImportedModel import_onnx(std::string_view file);

// What is in `info` because of the trees: pipeline, outputs, classes.
void describe_trees(const TreeEnsemble& trees, schema::ModelInfo& info);

}   // namespace kedge::engine
