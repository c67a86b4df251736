// Parameters of transformers inside other ones, by the paths of scikit-learn's set_params: "num__simpleimputer__strategy".
#pragma once

#include <string>
#include <string_view>

#include "schemas/job.h"

namespace kedge::engine {

// Sets the parameter at `path` of a step. In a step that holds a list of named ones (ColumnTransformer, FeatureUnion,
// VotingClassifier ...) "num" stands for that of this name, and "remainder", "estimator" and "final_estimator" for the
// step that this parameter holds; it may be set as a whole; "num__with_mean" is its parameter, or, where it is a list
// of steps, "num__standardscaler__with_mean" that of a step, named as step_names() says. Any other path is a plain
// parameter, which the estimator's constructor judges. Errors, at `where`: kInvalidValue for a name that does not exist
// (with the nearest one), kWrongType.
void set_nested_param(schema::Step& step, std::string_view path, const schema::Value& value, const std::string& where);

}  // namespace kedge::engine
