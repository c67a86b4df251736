// What the host computes when a fitted estimator answers, though the device is a GPU.
#pragma once

#include <string_view>
#include <vector>

namespace kedge::engine {

// What of each row of a prediction or transform, by the estimator's name, after "on a GPU the host still computes";
// empty: nothing. EstimatorInfo::hostPart says it of fits.
std::string_view host_answer(std::string_view estimator);

std::vector<std::string_view> estimators_with_host_answers();

}   // namespace kedge::engine
