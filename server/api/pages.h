// What users see that open the server in a browser, apart from /ui/: see html.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/catalogue.h"
#include "server/http/message.h"

namespace kedge::server::api {

http::Response index_page(const std::string& name, const std::string& version);
http::Response docs_page();   // the calls, from openapi.json

// kNotFound, with the nearest name.
const schema::EstimatorInfo& find_estimator(const schema::Catalogue& catalogue, std::string_view name);

}   // namespace kedge::server::api
