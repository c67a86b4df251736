// What a caller may have of something, and the error that says that it has all of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/error.h"

namespace kedge::schema {

struct Quota {
  std::string_view name;   // "requests", "jobs"; a literal
  std::string_view unit;   // "requests", "concurrent-requests", "content-bytes"; a literal
  std::uint64_t most = 0, left = 0;
  double window_s = 0;   // in which so many may come; 0: at any one time
  double refill_s = 0;   // until all are there again; 0: not known
  double next_s = 1;     // until it is worth another try
};

struct QuotaExceeded : Error {
  Quota quota;
  QuotaExceeded(std::string message, Quota quota) : Error(ErrorCode::kTooManyRequests, std::move(message)), quota(quota) {}
};

}   // namespace kedge::schema
