// How much memory values take, for bounds on what a small description stands for.
#pragma once

#include <cstddef>

#include "schemas/value.h"

namespace kedge::engine {

// Bytes of a value with all that it holds; of a map, of its names too. Within a factor of two of what the allocator gives.
std::size_t held_bytes(const schema::Value& value);
std::size_t held_bytes(const schema::ValueMap& map);

}  // namespace kedge::engine
