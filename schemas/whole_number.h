// Whole numbers in values that came as JSON.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "schemas/value.h"

namespace kedge::schema {

// The integer that `value` is: 3, and also 3.0 or 3e0, which are the same to JSON Schema (draft 2020-12, 6.1.1). It is
// not set for other values, nor for a number with a point or an exponent whose magnitude is above 2^53: several
// integers round to that one.
inline std::optional<std::int64_t> whole_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return *whole;
  const auto* number = std::get_if<double>(&value.data);
  constexpr double kLargestExact = 9007199254740992.0;
  if (!number || *number != std::trunc(*number) || std::abs(*number) > kLargestExact) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}   // namespace kedge::schema
