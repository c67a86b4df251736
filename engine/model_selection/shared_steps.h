// Pipelines that share their steps: the candidates of a search differ in few of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schemas/job.h"

namespace kedge::engine {

// The steps of one pipeline. Shared, because a search has a pipeline for each candidate, and most of them have most steps in common.
using SharedSteps = std::vector<std::shared_ptr<const schema::Step>>;

// The same steps without a copy: they must outlive what is returned.
SharedSteps shared_steps(const std::vector<schema::Step>& steps);
std::vector<schema::Step> copied(const SharedSteps& shared);

// Their names for parameter paths, as step_names() of estimators/nested.h.
std::vector<std::string> step_names(const SharedSteps& shared);

// What a step does: equal for equal estimators and parameters. A digest stands for a long description, so that the keys of many
// candidates take no more than these do.
std::string step_key(const schema::Step& step);

}  // namespace kedge::engine
