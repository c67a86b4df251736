// Checks a received Cap'n Proto struct before it is converted. Internal to the codec.
#pragma once

#include <capnp/dynamic.h>

namespace kedge::schema {

// What the JSON reader checks and a binary message can get wrong too: required fields, unknown union members and enum values,
// text that is not UTF-8, names that come twice, values that nest too deep. Errors carry the path.
void check(capnp::DynamicStruct::Reader root);

}  // namespace kedge::schema
