// The changes of the list of jobs as a stream.
#pragma once

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

// `/v1/events?list=1`: first where the stream begins, then each job whose state changes, as a list shows it. The stream
// is a cursor on the stored list, so it is resumed without a gap with the last position, also after a restart of the
// server. A job that changed several times meanwhile comes once. Callers see the jobs of their tenant, an admin those
// of all.
http::Response list_event_stream(const Api& api, const http::Request& request);

}   // namespace kedge::server::api
