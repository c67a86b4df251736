// One matrix of bytes out of a MATLAB file of version 5, plain or compressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::server {

struct ByteMatrix {
  std::int64_t rows = 0, columns = 0;
  std::string values;   // column by column
};

// `what` names the file in messages. Errors: kDatasetCorrupt for what is no such file, has no matrix of that name, or
// has one of other values than 0 to 255 as bytes.
ByteMatrix byte_matrix_of(std::string_view file, std::string_view name, const std::string& what);

}   // namespace kedge::server
