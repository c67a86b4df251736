// What a backend says when a library gives a factorisation up.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "schemas/error.h"

namespace kedge::engine {

// With finite input the cause is a sum that overflows, or a quotient of numbers that have almost no correct digits
// left. The caller that knows the estimator puts its name before the message.
struct FactorisationFailed : schema::Error {
  FactorisationFailed(std::string_view library, std::string_view routine, int info)
      : Error(schema::ErrorCode::kBadData,
              fmt::format("numbers as large or small as these became infinite or NaN ({}: {} returned {}); scale the data, for instance "
                          "with StandardScaler",
                          library, routine, info)) {}
};

}  // namespace kedge::engine
