// Parses an ARFF text that is there as a whole.
#include <algorithm>
#include <chrono>

#include "server/data/arff_stream.h"
#include "server/data/parse.h"

namespace kedge::server {

engine::DatasetMeta parse_arff(std::string_view text, const ParseRequest& request) {
  constexpr auto kProgressInterval = std::chrono::milliseconds(100);
  const auto total = static_cast<std::int64_t>(text.size());
  auto next_progress = std::chrono::steady_clock::now() + kProgressInterval;
  ArffStream stream(request);
  for (std::size_t at = 0; at < text.size(); at += kChunkBytes) {
    stream.write(text.substr(at, kChunkBytes));
    if (!request.parallel.progress || std::chrono::steady_clock::now() < next_progress) continue;
    next_progress += kProgressInterval;
    request.parallel.progress(static_cast<std::int64_t>(std::min(at + kChunkBytes, text.size())), total);
  }
  const engine::DatasetMeta meta = stream.finish();
  if (request.parallel.progress) request.parallel.progress(total, total);
  return meta;
}

}  // namespace kedge::server
