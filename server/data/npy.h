// NumPy's .npy files: a table of numbers without names.
#pragma once

#include <memory>
#include <string_view>

#include "server/data/parse.h"

namespace kedge::server {

// Versions 1 to 3 with one or two dimensions of booleans, integers or floats of up to 64 bits, in either byte order and
// in C or Fortran order. Columns are named "x0", "x1" ... Values are float32 when the file's are that or small
// integers, otherwise float64; integers beyond 2^53 are refused. Errors as the other parsers: kDatasetCorrupt,
// kCancelled, kInternal. Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
engine::DatasetMeta parse_npy(std::string_view bytes, const ParseRequest& request);

// The same while the bytes come: rows go to disk at once, and the file is never kept as it was sent. Without finish() nothing is left.
class NpyStream {
 public:
  // Takes the first bytes of a file. Null, and nothing done, if they do not hold the whole header of an array in C order: only
  // parse_npy() reads Fortran order, and says what is wrong with a header.
  static std::unique_ptr<NpyStream> begin(std::string_view bytes, ParseRequest request);
  ~NpyStream();

  void write(std::string_view bytes);   // errors: the disk's; those of the numbers wait for finish()
  engine::DatasetMeta finish();         // errors as parse_npy

 private:
  struct Impl;
  explicit NpyStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server
