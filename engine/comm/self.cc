// The communicator of a job that has one rank: every call gives back what it got.
#include "engine/comm/self.h"

#include <algorithm>

namespace kedge::engine {
namespace {

class SelfComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(std::span<std::int64_t>, IntegerOp) override {}
  void all_reduce(std::span<double>, OrderOp) override {}
  void broadcast(std::span<std::byte>, int) override {}
  PartedBytes all_gather(std::span<const std::byte> mine) override {
    PartedBytes all;
    all.add(mine);
    return all;
  }
  void reduce_scatter(std::span<const std::int64_t> all, std::span<std::int64_t> mine) override {
    std::ranges::copy(all, mine.begin());
  }
  PartedBytes all_to_all(const PartedBytes& out) override { return out; }
  void abort(const schema::Error& why) override { throw why; }
};

}   // namespace

std::unique_ptr<Comm> make_self_comm() {
  return std::make_unique<SelfComm>();
}

}   // namespace kedge::engine
