// A communicator that counts what its rank brings.
#pragma once

#include <cstdint>

#include "engine/comm/comm.h"

namespace kedge::engine {

// Of one rank, the bytes that it brings to calls: to sums, minima and maxima of all ranks, and to calls that move bytes
// as they are. What lies between, such as the sizes that a body exchanges and how its library routes bytes, is not in.
struct CommCounts {
  std::int64_t sums = 0, summed_bytes = 0;
  std::int64_t moves = 0, moved_bytes = 0;   // to itself: none, of all_to_all()
  friend bool operator==(const CommCounts&, const CommCounts&) = default;
};

// Passes every call on. Borrows the communicator; one thread, as there.
class CountedComm final : public Comm {
 public:
  explicit CountedComm(Comm& comm) : comm_(comm) {}

  const CommCounts& counts() const { return counts_; }

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  void all_reduce(std::span<std::int64_t> values, IntegerOp op) override {
    count_sum(values.size_bytes());
    comm_.all_reduce(values, op);
  }
  void all_reduce(std::span<double> values, OrderOp op) override {
    count_sum(values.size_bytes());
    comm_.all_reduce(values, op);
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    count_move(rank() == root ? bytes.size() : 0);
    comm_.broadcast(bytes, root);
  }
  PartedBytes all_gather(std::span<const std::byte> mine) override {
    count_move(mine.size());
    return comm_.all_gather(mine);
  }
  void reduce_scatter(std::span<const std::int64_t> all, std::span<std::int64_t> mine) override {
    count_sum(all.size_bytes());
    comm_.reduce_scatter(all, mine);
  }
  PartedBytes all_to_all(const PartedBytes& out) override {
    count_move(out.bytes.size() - out.part(rank()).size());
    return comm_.all_to_all(out);
  }
  [[noreturn]] void abort(const schema::Error& why) override {
    comm_.abort(why);
    __builtin_unreachable();
  }

 private:
  void count_sum(std::size_t bytes) { ++counts_.sums, counts_.summed_bytes += static_cast<std::int64_t>(bytes); }
  void count_move(std::size_t bytes) { ++counts_.moves, counts_.moved_bytes += static_cast<std::int64_t>(bytes); }

  Comm& comm_;
  CommCounts counts_;
};

}   // namespace kedge::engine
