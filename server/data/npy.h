// NumPy's .npy files: a table of numbers without names.
#pragma once

#include <string_view>

#include "server/data/parse.h"

namespace kedge::server {

// Versions 1 to 3 with one or two dimensions of booleans, integers or floats of up to 64 bits, in either byte order and in C or
// Fortran order. Columns are named "x0", "x1" ... Values are float32 when the file's are that or small integers, else float64;
// integers beyond 2^53 are refused. Errors as the other parsers: kDatasetCorrupt, kCancelled, kInternal.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
engine::DatasetMeta parse_npy(std::string_view bytes, const ParseRequest& request);

}  // namespace kedge::server
