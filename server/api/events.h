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

// Events with id > after, until the job's last one. `form` is kSse or kNdjson. The stream also ends, without
// that event, when the server stops; the client resumes with the last id that it saw.
http::Response event_stream(const Api& api, std::shared_ptr<http::Peer> peer, std::string job_id,
                            std::int64_t after, std::string_view form);

}  // namespace kedge::server::api
