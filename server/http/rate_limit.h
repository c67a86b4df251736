// Quotas as the fields RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10) and Retry-After.
#pragma once

#include "schemas/quota.h"
#include "server/http/message.h"

namespace kedge::server::http {

// Adds a quota to what the answer says of others.
void add_quota(Response& response, const schema::Quota& quota);

// Whole seconds, at least 1.
std::int64_t retry_after(const schema::Quota& quota);

}   // namespace kedge::server::http
