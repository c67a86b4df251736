// A checksum of large blocks of bytes, fast enough to be taken before each use: it finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kedge::engine {

// XXH64 with seed 0, in bytes as a little-endian machine has them. About as fast as memory is read.
// Source: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
std::uint64_t content_hash(std::span<const std::byte> bytes);

// The hash of the hashes of each kHashedTogether bytes, taken by several threads.
inline constexpr std::size_t kHashedTogether = std::size_t{64} << 10;
std::uint64_t content_hash_in_blocks(std::span<const std::byte> bytes);

}   // namespace kedge::engine
