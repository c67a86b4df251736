// require(): throw the project's error when a condition that the caller must meet does not hold.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "schemas/error.h"

namespace kedge::engine {

template <class... Args>
void require(bool ok, schema::ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) [[unlikely]] throw schema::Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace kedge::engine
