// The contract as OpenAPI 3.1, which is openapi.json of this folder.
#pragma once

#include <string_view>

namespace kedge::server::api {

std::string_view openapi_json();

}  // namespace kedge::server::api
