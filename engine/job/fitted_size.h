// How large the fitted attributes of a result are: a result is one message of bounded size.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "schemas/value.h"

namespace kedge::engine {

inline constexpr std::size_t kMostFittedBytes = std::size_t{60} << 20;   // of the 64 MiB of a worker's message

// About the bytes of a value in a message.
std::size_t message_size(const schema::Value& value);

// `fitted`: by step, its attributes. Error kBodyTooLarge, with the step and its largest attribute, where they are more
// than `most` bytes together.
void require_small(const std::vector<std::pair<std::string, schema::ValueMap>>& fitted,
                   std::size_t most = kMostFittedBytes);

}   // namespace kedge::engine
