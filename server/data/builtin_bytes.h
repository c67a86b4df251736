// The files of builtin/, compiled into the program.
#pragma once

#include <string_view>

namespace kedge::server {

struct BuiltinBytes {
  std::string_view iris, wine, breast_cancer, diabetes;   // CSV
  std::string_view digits;                                // CSV, gzip
  std::string_view mnist_images, mnist_labels;            // IDX, gzip
};

BuiltinBytes builtin_bytes();

}  // namespace kedge::server
