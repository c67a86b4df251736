// Universal Binary JSON, as XGBoost writes it.
#pragma once

#include <string_view>

#include "schemas/value.h"

namespace kedge::engine {

// Typed arrays of numbers become lists of doubles, other arrays a ValueList. Nothing is trusted: nests at most 32 deep,
// and takes at most sizeof(Value) bytes for each byte given. Errors: kModelCorrupt with the byte's place.
schema::Value read_ubjson(std::string_view bytes);

}   // namespace kedge::engine
