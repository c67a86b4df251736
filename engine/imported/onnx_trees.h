// Tree ensembles of ONNX's operators as ours.
#pragma once

#include <cstdint>

#include "engine/imported/cell_program.h"
#include "engine/imported/onnx_graph.h"

namespace kedge::engine {

struct OnnxTrees {
  LeafyTrees ensemble;           // sums only: neither base values nor post transform
  bool has_one_output = false;   // all weights are for one output
  bool has_negative = false;     // weights
};

// Of TreeEnsembleClassifier (prefix "class") or TreeEnsembleRegressor ("target"), for n_outputs sums of n_cols columns.
// Errors: kModelCorrupt with the node and the place; kInvalidValue for what is not taken, by name.
OnnxTrees read_onnx_trees(const OnnxNode& node, const char* prefix, std::int64_t n_cols, std::int64_t n_outputs,
                          bool is_float32);

}   // namespace kedge::engine
