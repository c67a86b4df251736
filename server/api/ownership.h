// Whose a job is: for other tenants it does not exist.
#pragma once

#include <string_view>

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

// Throws kNotFound when there is no such job, and in the same words when it is another tenant's. Reads the store: to be
// offloaded.
void check_owner(const Api& api, const http::Caller& caller, std::string_view job);

}  // namespace kedge::server::api
