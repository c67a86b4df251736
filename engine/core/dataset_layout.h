// Where in a data set file what lies, for programs that get its descriptor alone.
#pragma once

#include <cstdint>

namespace kedge::engine {

// Of the values, behind the head: a page, so that they are aligned to 64 bytes and more.
inline constexpr std::int64_t kDatasetValuesOffset = 4096;

}   // namespace kedge::engine
