// How the checks of a job description say no.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "schemas/error.h"

namespace kedge::engine {

[[noreturn]] inline void refuse(std::string where, std::string message, schema::ErrorCode code = schema::ErrorCode::kInvalidValue) {
  throw schema::Error(code, std::move(message), std::move(where));
}

// "; did you mean 'x'?" or nothing.
template <class Range>
std::string suggestion(std::string_view name, const Range& candidates) {
  const std::string_view nearest = schema::nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace kedge::engine
