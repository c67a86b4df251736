// What a command fetches, into a file.
#include "client/cli/save.h"

#include <fmt/core.h>

#include <cstdio>

#include "client/cli/units.h"
#include "client/cli/whole_file.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

void to_stdout(const std::function<void(const Take& take)>& fetch) {
  const auto refuse = [] { throw Error(schema::ErrorCode::kUnavailable, "cannot write to stdout"); };
  fetch([&](std::string_view piece) {
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size()) refuse();
  });
  if (std::fflush(stdout) != 0) refuse();
}

}   // namespace

void save(const std::string& file, const std::function<void(const Take& take)>& fetch, const Options& options) {
  if (file == "-") return to_stdout(fetch);
  std::int64_t bytes = 0;
  WholeFile out(file);
  fetch([&](std::string_view piece) {
    out.write(piece);
    bytes += static_cast<std::int64_t>(piece.size());
  });
  out.finish();
  if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"file", file}, {"bytes", bytes}}));
  else fmt::print(stderr, "{}  {}\n", file, size_text(bytes));
}

}   // namespace kedge::cli
