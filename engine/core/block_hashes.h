// The checksum of a file's values, taken while they are written, in pieces and in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace kedge::engine {

// Gives what content_hash_in_blocks() gives of all bytes. Thread safe.
class BlockHashes {
 public:
  // The bytes from `offset` on, each of them once.
  void add(std::uint64_t offset, std::span<const std::byte> bytes);
  // Of `size` bytes. Errors: kInternal if that is not what has come.
  std::uint64_t digest(std::uint64_t size) const;

 private:
  struct Part {   // of a block that has not come as a whole
    std::vector<std::byte> bytes;
    std::size_t filled = 0;
  };
  void add_part(std::uint64_t block, std::size_t at, std::span<const std::byte> bytes);
  void put(std::uint64_t block, std::uint64_t hash);   // with the mutex held

  mutable std::mutex mutex_;
  std::vector<std::uint64_t> hashes_;     // by block
  std::uint64_t n_whole_ = 0;             // of them that are known
  std::map<std::uint64_t, Part> parts_;   // by block: the ends of pieces
};

}   // namespace kedge::engine
