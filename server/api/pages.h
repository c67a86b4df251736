// Pages for users that open the server in a browser. They load no other files, have no scripts, and refuse to be
// framed.
#pragma once

#include <string>
#include <vector>

#include "server/http/message.h"

namespace kedge::server::api {

http::Response index_page(const std::string& name, const std::string& version);
http::Response docs_page();   // the calls, from openapi.json

}   // namespace kedge::server::api
