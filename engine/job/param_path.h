// Sets parameters of a pipeline by their paths, as scikit-learn's set_params does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model_selection/shared_steps.h"
#include "schemas/job.h"

namespace kedge::engine {

// The steps with the candidate's parameters in place: "ridge__alpha" is a parameter of a step (named as step_names()
// says), "pca" the step itself: an estimator object, or "passthrough" to leave it out. Steps are replaced before
// parameters are set. With a single step, its parameters may have their bare names. Inside ColumnTransformer and
// FeatureUnion paths continue: set_nested_param(). Steps that the candidate leaves alone are shared with `steps`.
// Errors, at `where`.PATH: kInvalidValue for a step that does not exist, with the nearest name, and for what cannot
// stand for one; at `where` when no step is left.
SharedSteps with_params(const SharedSteps& steps, const schema::ValueMap& candidate, const std::string& where);

// The same by place: null for a step that is passed through.
SharedSteps with_params_in_place(const SharedSteps& steps, const schema::ValueMap& candidate, const std::string& where);

// The place of the step that a parameter path is about, among steps of these names; unset where there is none.
std::optional<std::size_t> step_of_path(const std::vector<std::string>& names, std::string_view path);

}  // namespace kedge::engine
