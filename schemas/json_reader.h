// Reads JSON text into Cap'n Proto structs, driven by their schema. Internal to the codec.
#pragma once

#include <capnp/dynamic.h>

#include <string_view>

#include "schemas/value.h"

namespace kedge::schema {

// Fills the empty struct `root`. Errors: as from_json() says.
void read_json(std::string_view text, capnp::DynamicStruct::Builder root);

Value read_json_value(std::string_view text);

}  // namespace kedge::schema
