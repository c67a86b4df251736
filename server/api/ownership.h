// Whose a job or a model is: for other tenants it does not exist.
#pragma once

#include <string>
#include <string_view>

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

// Throw kNotFound when there is no such job or model, and in the same words when it is another tenant's; `path` is the field that
// names it. Read the store: to be offloaded.
OwnedJob find_owned(const Api& api, const http::Caller& caller, std::string_view job);
void check_owner(const Api& api, const http::Caller& caller, std::string_view job);
// The id of the model that a reference means (server/jobs/model_registry.h), if the caller may see it.
// known_model() does the same with what is in memory; empty: it has to be looked up.
std::string known_model(const Api& api, const http::Caller& caller, std::string_view reference);
std::string resolve_model(const Api& api, const http::Caller& caller, std::string_view reference,
                          std::string path = {});

}  // namespace kedge::server::api
