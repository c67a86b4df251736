// Reads any bytes as ARFF, whole and in pieces as a download brings them: the same file, or refused both times.
#include "server/data/arff_stream.h"
#include "tests/fuzz/table.h"

namespace {

using namespace kedge::server;

void parse_in_pieces(std::string_view text, std::size_t step, const ParseRequest& request) {
  ArffStream stream(request);
  for (std::size_t at = 0; at < text.size(); at += step) stream.write(text.substr(at, step));
  stream.finish();
}

}   // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParseRequest whole = fuzz_request("whole.kds"), pieces = fuzz_request("pieces.kds");
  const std::string expected = table_of([&] { parse_arff(text, whole); }, whole);
  if (table_of([&] { parse_in_pieces(text, 1 + size / 7, pieces); }, pieces) != expected)
    broken("the table depends on how the text arrives\n");
  return 0;
}
