// Reads any bytes as NPY.
#include "server/data/npy.h"
#include "tests/fuzz/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kedge::server::try_table(&kedge::server::parse_npy, data, size);
  return 0;
}
