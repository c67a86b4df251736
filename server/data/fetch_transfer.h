// One HTTP GET through libcurl: redirects, address check, gzip, progress and cancellation; no retries.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "schemas/error.h"
#include "server/data/fetch.h"

namespace kedge::server {

// An attempt that failed in a way that another may not.
struct AttemptFailure {
  schema::ErrorCode code;
  std::string cause;
  std::chrono::milliseconds wait{0};   // at least so long, as the server asked
};

struct TransferOptions {
  const AddressRules& rules;
  const FetchLimits& limits;
  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;
  Fetcher::Progress progress;                     // may be empty
  std::function<bool(long status)> wants_body;    // for which final answers the body goes to the sink
};

struct TransferResult {
  long status = 0;
  std::string etag;
};

// Decoded bytes of the body go to `sink`, whose exceptions come out here. Throws AttemptFailure or schema::Error.
TransferResult transfer(const FetchRequest& request, const TransferOptions& options,
                        const std::function<void(std::string_view)>& sink);

}  // namespace kedge::server
