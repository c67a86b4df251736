// Writes Cap'n Proto structs as JSON text, driven by their schema. Internal to the codec.
#pragma once

#include <capnp/dynamic.h>

#include <string>

namespace kedge::schema {

void append_json(std::string& out, capnp::DynamicStruct::Reader root);

}  // namespace kedge::schema
