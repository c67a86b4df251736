// The generators: each makes the text of one file from the schema.
#pragma once

#include <string>
#include <string_view>

#include "schemas/codegen/contract.h"

namespace kedge::codegen {

inline constexpr std::string_view kNotice = "Generated from schemas/*.capnp: do not edit.";

std::string wire_header(const Contract& contract);    // declarations of store() and load(), and WireOf
std::string wire_source(const Contract& contract);    // their definitions
std::string documents(const Contract& contract);      // the codec's instantiations
std::string components(const Contract& contract);     // the schemas of openapi.json, without the braces around them
std::string tasks(const Contract& contract);          // the C++ client's structs for tasks
std::string select_calls(const Contract& contract);   // and its calls that select from a data set

}   // namespace kedge::codegen
