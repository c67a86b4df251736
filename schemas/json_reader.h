// Reads JSON text into Cap'n Proto structs, driven by their schema. Internal to the codec.
#pragma once

#include <capnp/dynamic.h>

#include <string_view>

#include "schemas/value.h"

namespace kedge::schema {

// Fills the empty struct `root`. Errors: as from_json() says, and kBodyTooLarge for more than `max_items`
// values in the text: a value of two characters becomes some hundred bytes.
void read_json(std::string_view text, capnp::DynamicStruct::Builder root, std::size_t max_items);

Value read_json_value(std::string_view text);

}  // namespace kedge::schema
