// W3C trace context: the ids that tie what one user's action causes in several programs together.
#pragma once

#include <string>
#include <string_view>

namespace kedge::server::http {

// `given` if it is a valid traceparent of version 00, otherwise a new one: "00-TRACE-PARENT-01" with random ids.
std::string traceparent(std::string_view given);

}  // namespace kedge::server::http
