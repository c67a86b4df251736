// Blocks of documents of about equal size, for threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/side_by_side.h"

namespace kedge::engine::text {

struct Block {
  std::size_t first, last;   // documents first .. last - 1
};

inline constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

// Blocks do not depend on the number of threads.
inline std::vector<Block> blocks_of(const std::vector<std::string_view>& texts) {
  std::vector<Block> blocks;
  std::size_t first = 0, bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size() + 64;
    if (bytes < kBlockBytes && i + 1 < texts.size()) continue;
    blocks.push_back({first, i + 1});
    first = i + 1, bytes = 0;
  }
  return blocks;
}

// work(block, worker) for each of n blocks; a few stay on the calling thread.
template <class Work>
void for_blocks(std::size_t n, const Work& work) {
  parallel_tasks(n < 2 ? 1 : host_threads(), static_cast<std::int64_t>(n), [&](std::int64_t task, int worker) {
    work(static_cast<std::size_t>(task), static_cast<std::size_t>(worker));
  });
}

// work(part, begin, end) for about equal parts of n things, of `least` at least, one a thread.
template <class Work>
void for_parts(std::size_t n, const Work& work, std::size_t least = 1 << 14) {
  const std::size_t parts = std::clamp<std::size_t>(n / least, 1, static_cast<std::size_t>(host_threads()));
  parallel_tasks(static_cast<int>(parts), static_cast<std::int64_t>(parts), [&](std::int64_t task, int) {
    const auto part = static_cast<std::size_t>(task);
    work(part, n * part / parts, n * (part + 1) / parts);
  });
}

}   // namespace kedge::engine::text
