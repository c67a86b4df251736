// Pages of HTML that the server writes itself: no scripts, no other files.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::api {

std::string escaped(std::string_view text);   // for HTML, between tags and in attributes with double quotes

// A whole page. Its policy admits the page's own style and nothing else. `title` is text, `body` is HTML.
http::Response html_page(std::string_view title, std::string_view body);

}   // namespace kedge::server::api
