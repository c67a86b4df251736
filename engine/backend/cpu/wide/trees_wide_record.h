// Writing a row's record with AVX-512.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/trees/trees_rows.h"

namespace kedge::engine {

// As write_record() with the row's codes and the common bins, both readable up to a multiple of 64 columns;
// writes up to 64 bytes behind the record. Only where WideNodes::is_available().
void write_record_wide(const RecordLayout& layout, std::int64_t n_cols, const std::uint8_t* codes,
                       const std::uint8_t* common, std::uint64_t* out);

}  // namespace kedge::engine
