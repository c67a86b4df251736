// The ranks of one job, and what they tell each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/error.h"

namespace kedge::engine {

enum class IntegerOp { kSum, kMin, kMax };
enum class OrderOp { kMin, kMax };

// Bytes in parts of any size, one for each rank, one behind the other.
struct PartedBytes {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> offsets{0};   // of the parts, and where the last ends

  int size() const { return static_cast<int>(offsets.size()) - 1; }
  std::span<const std::byte> part(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return std::span(bytes).subspan(static_cast<std::size_t>(offsets[at]),
                                    static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
  }
  void add(std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  friend bool operator==(const PartedBytes&, const PartedBytes&) = default;
};

// Every call is collective: all ranks make the same calls in the same order, with numbers of the same length. Host
// memory; sizes have 64 bits. One thread of each rank makes the calls. There is no sum of floating-point numbers,
// because its bits would depend on the number of ranks: see exact_sum.h. A call that fails does not return: a rank
// cannot go on without the others. What a body does then is said where it is made.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void all_reduce(std::span<std::int64_t> values, IntegerOp op) = 0;   // kSum may not overflow
  virtual void all_reduce(std::span<double> values, OrderOp op) = 0;           // no NaN
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual PartedBytes all_gather(std::span<const std::byte> mine) = 0;   // any size each; in rank order
  // The sums of `all`, of which each rank gets its own `mine`: those of rank 0 come first. All `mine` together are as
  // long as `all`.
  virtual void reduce_scatter(std::span<const std::int64_t> all, std::span<std::int64_t> mine) = 0;
  virtual PartedBytes all_to_all(
      const PartedBytes& out) = 0;   // part r goes to rank r; in the result it came from there
  [[noreturn]] virtual void abort(const schema::Error& why) = 0;   // ends all ranks
};

}   // namespace kedge::engine
