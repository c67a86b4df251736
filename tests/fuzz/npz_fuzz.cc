// Reads any bytes as NPZ.
#include "server/data/npz.h"
#include "tests/fuzz/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kedge::server::try_table(&kedge::server::parse_npz, data, size);
  return 0;
}
