// The events of a job as a stream: a cursor on the stored log, woken when the log grows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/api/api.h"
#include "server/http/message.h"
#include "server/http/peer.h"

namespace kedge::server::api {

// Counts a stream of the tenant until the handle goes; null where streams are not counted. Throws kTooManyRequests when the tenant has as
// many as it may.
std::shared_ptr<void> open_stream(const Api& api, const std::string& tenant);

// The caller must own the job. `counted` is of open_stream(); where it is null the stream is counted here.
// Events with id > after, until the job's last one. `form` is kSse or kNdjson. The stream also ends, without
// that event, when the server stops; the client resumes with the last id that it saw.
http::Response event_stream(const Api& api, const http::Request& request, std::string job_id, std::int64_t after,
                            std::string_view form, std::shared_ptr<void> counted = nullptr);

}  // namespace kedge::server::api
