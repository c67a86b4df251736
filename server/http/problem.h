// Errors as application/problem+json (RFC 9457).
#pragma once

#include <string_view>

#include "schemas/error.h"
#include "server/http/message.h"

namespace kedge::server::http {

inline constexpr std::string_view kProblemType = "application/problem+json";

// Standard phrase of a status code.
std::string_view reason_phrase(int status);

// {"type", "title", "status", "detail", "instance", "code", "where"?, "errors"?, "retryable"}. The status is
// http_status(code) unless given. `instance` is the request's id. For a schema::QuotaExceeded it names the quota, too.
Response problem(const schema::Error& error, std::string_view request_id);
Response problem(int status, const schema::Error& error, std::string_view request_id);

// The same answer in the form that clients of the Open Inference Protocol read: application/json with "error".
void as_inference_error(Response& response);

// "pipeline[1].params.n_estimators" as the JSON pointer "/pipeline/1/params/n_estimators".
std::string json_pointer(std::string_view where);

}  // namespace kedge::server::http
