// Reads any bytes as NPY while they come, in pieces as an upload brings them: the same file as parse_npy(), or refused both
// times.
#include "server/data/npy.h"
#include "tests/fuzz/table.h"

namespace {

using namespace kedge::server;

constexpr std::size_t kHead = 128;   // what numpy's header takes

// False when the first piece does not begin a stream, and is then not parsed.
bool parse_in_pieces(std::string_view bytes, const ParseRequest& request) {
  const std::size_t first = std::min(bytes.size(), kHead + bytes.size() % 5), step = 1 + bytes.size() % 23;
  const auto stream = NpyStream::begin(bytes.substr(0, first), request);
  if (!stream) return false;
  for (std::size_t at = first; at < bytes.size(); at += step) stream->write(bytes.substr(at, step));
  stream->finish();
  return true;
}

}   // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ParseRequest whole = fuzz_request("whole.kds"), pieces = fuzz_request("pieces.kds");
  bool began = true;
  const std::string table = table_of(
      [&] {
        began = parse_in_pieces(bytes, pieces);
        if (!began) parse_npy(bytes, pieces);
      },
      pieces);
  if (began && table_of([&] { parse_npy(bytes, whole); }, whole) != table) broken("the table depends on how the bytes arrive\n");
  return 0;
}
