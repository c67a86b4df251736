// The rules of scorers: what each can score, and what the last step of a pipeline must do for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/job/step_traits.h"
#include "engine/metrics/scorers.h"

namespace kedge::engine {

// Whether the scorer can score what the last step predicts. Errors: kInvalidValue at `path`.
void check_scorer(const Scorer& scorer, const StepTraits& last, const std::string& path);

// The scorers of these names; where there are none accuracy or r2. `task`: its path. Errors: kInvalidValue at `task`.scoring[i].
std::vector<const Scorer*> check_scoring(const std::vector<std::string>& names, const StepTraits& last, const std::string& task);

// Errors: kInvalidValue at the last of `n_steps` where it does not predict.
void check_predicts(const StepTraits& last, std::size_t n_steps, std::string_view task);

}  // namespace kedge::engine
