// Checks a received Cap'n Proto struct before it is converted. Internal to the codec.
#pragma once

#include <capnp/dynamic.h>

namespace kedge::schema {

// What the JSON reader checks and a binary message can get wrong too: required fields, unknown union members
// and enum values, text that is not UTF-8, names that come twice, values that nest too deep; and more than
// `max_items` items in its lists, because one that takes no space in the message can take a hundred bytes in
// memory. Errors carry the path.
void check(capnp::DynamicStruct::Reader root, std::size_t max_items);

}  // namespace kedge::schema
