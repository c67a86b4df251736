// Blocks are hashed where they lie; what a piece has of its first and last block is kept until the rest has come.
#include "engine/core/block_hashes.h"

#include <algorithm>

#include "engine/core/content_hash.h"
#include "engine/core/require.h"

namespace kedge::engine {

void BlockHashes::add(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> whole;
  std::uint64_t first_whole = 0;
  while (!bytes.empty()) {
    const std::uint64_t block = offset / kHashedTogether;
    const std::size_t at = offset % kHashedTogether, n = std::min(bytes.size(), kHashedTogether - at);
    if (n == kHashedTogether) {
      if (whole.empty()) first_whole = block;
      whole.push_back(content_hash(bytes.first(n)));
    } else {
      add_part(block, at, bytes.first(n));
    }
    offset += n, bytes = bytes.subspan(n);
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < whole.size(); ++i) put(first_whole + i, whole[i]);
}

void BlockHashes::add_part(std::uint64_t block, std::size_t at, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  Part& part = parts_[block];
  part.bytes.resize(std::max(part.bytes.size(), at + bytes.size()));
  std::ranges::copy(bytes, part.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  part.filled += bytes.size();
  if (part.filled < kHashedTogether) return;
  put(block, content_hash(part.bytes));
  parts_.erase(block);
}

void BlockHashes::put(std::uint64_t block, std::uint64_t hash) {
  if (hashes_.size() <= block) hashes_.resize(block + 1);
  hashes_[block] = hash, ++n_whole_;
}

std::uint64_t BlockHashes::digest(std::uint64_t size) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> hashes = hashes_;
  const std::size_t rest = size % kHashedTogether;
  const auto last = parts_.find(size / kHashedTogether);   // the file may end within a block
  const std::size_t come = last == parts_.end() ? 0 : last->second.filled;
  require(n_whole_ == size / kHashedTogether && parts_.size() == (rest > 0 ? 1 : 0) && come == rest, schema::ErrorCode::kInternal,
          "{} bytes were not written as a whole", size);
  if (rest > 0) hashes.push_back(content_hash(last->second.bytes));
  return content_hash(std::as_bytes(std::span(hashes)));
}

}   // namespace kedge::engine
