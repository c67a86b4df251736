// Sets parameters of a pipeline by their paths, as scikit-learn's set_params does.
#pragma once

#include <string>
#include <vector>

#include "schemas/job.h"

namespace kedge::engine {

// The steps with the candidate's parameters in place: "ridge__alpha" is a parameter of a step (named as path_names() says), "pca"
// the step itself: an estimator object, or "passthrough" to leave it out. Steps are replaced before parameters are set. With a
// single step, its parameters may go by their bare names. Inside ColumnTransformer and FeatureUnion paths go on: set_nested_param().
// Errors, at `where`.PATH: kInvalidValue for a step that does not exist, with the nearest name, and for what cannot stand for one.
std::vector<schema::Step> with_params(const std::vector<schema::Step>& steps, const schema::ValueMap& candidate, const std::string& where);

}  // namespace kedge::engine
