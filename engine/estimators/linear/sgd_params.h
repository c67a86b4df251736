// The parameters of the estimators by stochastic gradient descent, and what they mean for a run.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/linear/sgd.h"

namespace kedge::engine {

const char* sgd_name(SgdKind kind, bool is_classifier);
std::vector<schema::ParamInfo> sgd_param_infos(SgdKind kind, bool is_classifier);
SgdParams parse_sgd(SgdKind kind, bool is_classifier, const schema::ValueMap& values);
// Errors: kInvalidValue for pairs that scikit-learn refuses.
SgdOptions sgd_options(const SgdParams& params, SgdKind kind, bool is_classifier);
std::vector<std::string> sgd_deviations(SgdKind kind);

}   // namespace kedge::engine
