// XXH64.
#include "engine/core/content_hash.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace kedge::engine {
namespace {

constexpr std::uint64_t kP1 = 0x9E3779B185EBCA87, kP2 = 0xC2B2AE3D27D4EB4F, kP3 = 0x165667B19E3779F9, kP4 = 0x85EBCA77C2B2AE63,
                        kP5 = 0x27D4EB2F165667C5;
constexpr std::size_t kStripe = 32;
constexpr std::size_t kPerThread = std::size_t{4} << 20;   // less is hashed faster than a thread starts

template <class T>
std::uint64_t word(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kP2, 31) * kP1;
}

// Of whole stripes.
std::uint64_t of_stripes(const std::byte*& at, const std::byte* end) {
  std::array<std::uint64_t, 4> lanes{kP1 + kP2, kP2, 0, 0 - kP1};
  for (; static_cast<std::size_t>(end - at) >= kStripe; at += kStripe)
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = round(lanes[i], word<std::uint64_t>(at + 8 * i));
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kP1 + kP4;
  return hash;
}

}   // namespace

std::uint64_t content_hash(std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  std::uint64_t hash = (bytes.size() >= kStripe ? of_stripes(at, end) : kP5) + bytes.size();
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ round(0, word<std::uint64_t>(at)), 27) * kP1 + kP4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ word<std::uint32_t>(at) * kP1, 23) * kP2 + kP3;
    at += 4;
  }
  for (; at < end; ++at) hash = std::rotl(hash ^ word<std::uint8_t>(at) * kP5, 11) * kP1;
  hash = (hash ^ hash >> 33) * kP2;
  hash = (hash ^ hash >> 29) * kP3;
  return hash ^ hash >> 32;
}

std::uint64_t content_hash_in_blocks(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> hashes((bytes.size() + kHashedTogether - 1) / kHashedTogether);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < hashes.size();) {
      const std::size_t begin = i * kHashedTogether;
      hashes[i] = content_hash(bytes.subspan(begin, std::min(kHashedTogether, bytes.size() - begin)));
    }
  };
  {
    const std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), bytes.size() / kPerThread);
    std::vector<std::jthread> helpers(threads > 0 ? threads - 1 : 0);   // this thread is one of them
    for (std::jthread& helper : helpers) helper = std::jthread(work);
    work();
  }
  return content_hash(std::as_bytes(std::span(hashes)));
}

}   // namespace kedge::engine
