// One HTTP GET through libcurl: redirects, address check, gzip, progress, cancellation, going on with a broken body; no retries.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "schemas/error.h"
#include "server/data/fetch.h"
#include "server/data/inflate.h"

namespace kedge::server {

// An attempt that failed in a way that another may not.
struct AttemptFailure {
  schema::ErrorCode code;
  std::string cause;
  std::chrono::milliseconds wait{0};   // at least so long, as the server asked
};

// What has come of a body so far, so that the next attempt can request the rest only. New: nothing has.
struct PartialBody {
  std::int64_t wire_bytes = 0;          // as sent, before decoding
  std::string validator;                // of If-Range; empty: the next attempt starts over
  std::unique_ptr<Inflater> inflater;   // of a gzip body

  bool can_go_on() const { return !validator.empty() && wire_bytes > 0 && !(inflater && inflater->complete()); }
};

// Where a decoded body goes. Called on the caller's thread; exceptions come out of transfer().
struct BodyOutput {
  std::function<void()> restart;                   // before the first byte: what came earlier is void
  std::function<void(std::string_view)> write;
};

struct TransferOptions {
  const AddressRules& rules;
  const FetchLimits& limits;
  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;
  Fetcher::Progress progress;                     // may be empty
  std::function<bool(long status)> wants_body;    // for which final answers the body goes to the output
};

struct TransferResult {
  long status = 0;
  std::string etag;
};

// Requests all of the body, or the rest of what `body` holds. If the server sends all of it anyway, the output starts
// again. Keeps `body` up to date, also when it fails. Throws AttemptFailure or schema::Error.
TransferResult transfer(const FetchRequest& request, const TransferOptions& options, PartialBody& body, const BodyOutput& output);

}  // namespace kedge::server
