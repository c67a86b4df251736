// Reads any bytes as libsvm.
#include "tests/fuzz/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kedge::server::try_table(&kedge::server::parse_libsvm, data, size);
  return 0;
}
