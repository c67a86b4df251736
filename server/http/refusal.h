// What the protocol layer throws when a request must not be served and its connection not be trusted any
// further.
#pragma once

#include <stdexcept>
#include <string>

#include "schemas/error.h"

namespace kedge::server::http {

struct Refusal : std::runtime_error {
  int status;
  schema::ErrorCode code;
  Refusal(int status, const std::string& detail, schema::ErrorCode code = schema::ErrorCode::kMalformed)
      : std::runtime_error(detail), status(status), code(code) {}
};

}  // namespace kedge::server::http
