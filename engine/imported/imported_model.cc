// Which program wrote a model file, and how its trees are described.
#include "engine/imported/imported_model.h"

#include "engine/imported/onnx_graph.h"
#include "engine/imported/ubjson.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_json(std::string_view file) {
  const std::size_t brace = file.find_first_not_of(kBlanks);
  if (brace == std::string_view::npos || file[brace] != '{') return false;
  const std::size_t next = file.find_first_not_of(kBlanks, brace + 1);
  return next == std::string_view::npos || file[next] == '"' || file[next] == '}';
}
bool is_ubjson(std::string_view file) {
  return file.size() > 1 && file[0] == '{' && std::string_view("iUIlLN#").find(file[1]) != std::string_view::npos;
}
bool is_lightgbm(std::string_view file) {
  return file.starts_with("tree\n") || file.starts_with("tree\r\n");
}

schema::Value json_document(std::string_view file) {
  try {
    return schema::value_from_json(file);
  } catch (const schema::Error& error) {
    const bool is_catboost = file.find("\"oblivious_trees\"") != std::string_view::npos;
    throw schema::Error(schema::ErrorCode::kModelCorrupt, (is_catboost ? "CatBoost model: " : "XGBoost model: ") +
                                                              (error.where.empty() ? "" : error.where + ": ") +
                                                              error.message);
  }
}

}   // namespace

bool is_foreign_model(std::string_view file) {
  return is_json(file) || is_ubjson(file) || is_lightgbm(file) || is_onnx(file);
}

ImportedModel import_model(std::string_view file) {
  if (is_lightgbm(file)) return import_lightgbm(file);
  if (is_ubjson(file)) return import_xgboost(read_ubjson(file));
  if (is_onnx(file)) return import_onnx(file);
  if (is_json(file)) {
    const schema::Value document = json_document(file);
    return is_catboost(document) ? import_catboost(document) : import_xgboost(document);
  }
  throw schema::Error(schema::ErrorCode::kModelCorrupt, "it is no model of XGBoost, LightGBM, CatBoost or ONNX");
}

void describe_trees(const TreeEnsemble& trees, schema::ModelInfo& info) {
  info.pipeline = {{kTreeEnsemble,
                    {{"source", trees.source},
                     {"objective", trees.objective},
                     {"n_trees", trees.n_trees()},
                     {"n_nodes", trees.n_nodes()}}}};
  info.dtype = trees.is_float32 ? "float32" : "float64";
  info.classes.clear();
  for (std::int32_t k = 0; k < trees.n_classes(); ++k) info.classes.push_back(std::to_string(k));
  info.outputs = {"predict"};
  if (trees.is_classifier && trees.link != EnsembleLink::kIdentity && trees.link != EnsembleLink::kStep)
    info.outputs.emplace_back("predict_proba");
  if (trees.has_margin()) info.outputs.emplace_back("decision_function");
  if (trees.has_cover()) info.outputs.insert(info.outputs.end(), {"contributions", "interactions"});
}

}   // namespace kedge::engine
