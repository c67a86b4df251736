// Ranks that are threads: each shows the others what it brings, and reads theirs.
#include "engine/comm/threads.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

namespace kedge::engine {
namespace {

// What a rank brings to a call. Borrowed until the call's second meeting.
struct Brought {
  std::string call;   // name and length, which must be equal
  std::span<const std::int64_t> integers = {};
  std::span<const double> doubles = {};
  std::span<const std::byte> bytes = {};
  const PartedBytes* parts = nullptr;
};

class Group {
 public:
  explicit Group(int size) : brought_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(brought_.size()); }

  // Returns when every rank is here and what they bring can be read. Errors: that of end().
  const std::vector<Brought>& show(int rank, Brought brought) {
    check();
    brought_[static_cast<std::size_t>(rank)] = std::move(brought);
    meet();
    for (const Brought& other : brought_) {
      if (other.call != brought_[0].call)
        end({schema::ErrorCode::kInternal,
             fmt::format("ranks make different calls: {} and {}", brought_[0].call, other.call)});
    }
    return brought_;
  }

  void check() {
    const std::lock_guard lock(mutex_);
    if (failure_) throw *failure_;
  }

  void meet() {
    std::unique_lock lock(mutex_);
    if (failure_) throw *failure_;
    const std::int64_t round = round_;
    if (++here_ == size()) {
      here_ = 0, ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || failure_; });
    if (round_ == round) throw *failure_;
  }

  [[noreturn]] void end(const schema::Error& why) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = why;
      changed_.notify_all();
    }
    throw why;
  }

 private:
  std::vector<Brought> brought_;   // each rank writes its own; read between two meetings
  std::mutex mutex_;               // guards what follows
  std::condition_variable changed_;
  int here_ = 0;
  std::int64_t round_ = 0;
  std::optional<schema::Error> failure_;
};

template <class T, class Op>
T smaller_or_larger(T a, T b, Op op) {
  return op == Op::kMin ? std::min(a, b) : std::max(a, b);
}

class ThreadComm final : public Comm {
 public:
  ThreadComm(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void all_reduce(std::span<std::int64_t> values, IntegerOp op) override {
    const auto& all = group_->show(
        rank_,
        {.call = fmt::format("all_reduce {} of {} integers", static_cast<int>(op), values.size()), .integers = values});
    std::vector<std::int64_t> total(all[0].integers.begin(), all[0].integers.end());
    for (std::size_t r = 1; r < all.size(); ++r)
      for (std::size_t i = 0; i < total.size(); ++i)
        total[i] = op == IntegerOp::kSum ? sum(total[i], all[r].integers[i])
                                         : smaller_or_larger(total[i], all[r].integers[i], op);
    finish_sums();
    std::ranges::copy(total, values.begin());
  }

  void all_reduce(std::span<double> values, OrderOp op) override {
    const auto& all = group_->show(
        rank_,
        {.call = fmt::format("all_reduce {} of {} doubles", static_cast<int>(op), values.size()), .doubles = values});
    std::vector<double> total(all[0].doubles.begin(), all[0].doubles.end());
    for (std::size_t r = 1; r < all.size(); ++r)
      for (std::size_t i = 0; i < total.size(); ++i) total[i] = smaller_or_larger(total[i], all[r].doubles[i], op);
    group_->meet();
    std::ranges::copy(total, values.begin());
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    const auto& all =
        group_->show(rank_, {.call = fmt::format("broadcast of {} bytes from {}", bytes.size(), root), .bytes = bytes});
    if (root != rank_) std::ranges::copy(all[static_cast<std::size_t>(root)].bytes, bytes.begin());
    group_->meet();
  }

  PartedBytes all_gather(std::span<const std::byte> mine) override {
    PartedBytes gathered;
    for (const Brought& other : group_->show(rank_, {.call = "all_gather", .bytes = mine})) gathered.add(other.bytes);
    group_->meet();
    return gathered;
  }

  void reduce_scatter(std::span<const std::int64_t> all, std::span<std::int64_t> mine) override {
    const auto size = static_cast<std::int64_t>(mine.size());
    const std::vector<std::int64_t> sizes = sizes_of_all(size);
    std::size_t begin = 0, end = 0;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      if (r < static_cast<std::size_t>(rank_)) begin += static_cast<std::size_t>(sizes[r]);
      end += static_cast<std::size_t>(sizes[r]);
    }
    if (end != all.size())
      group_->end({schema::ErrorCode::kInternal, fmt::format("reduce_scatter of {} integers to {}", all.size(), end)});
    const auto& brought =
        group_->show(rank_, {.call = fmt::format("reduce_scatter of {} integers", all.size()), .integers = all});
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i] = 0;
      for (const Brought& other : brought) mine[i] = sum(mine[i], other.integers[begin + i]);
    }
    finish_sums();
  }

  PartedBytes all_to_all(const PartedBytes& out) override {
    PartedBytes in;
    for (const Brought& other :
         group_->show(rank_, {.call = fmt::format("all_to_all of {} parts", out.size()), .parts = &out}))
      in.add(other.parts->part(rank_));
    group_->meet();
    return in;
  }

  void abort(const schema::Error& why) override { group_->end(why); }

 private:
  std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    overflows_ |= __builtin_add_overflow(a, b, &result);
    return result;
  }
  // Not before the meeting: what this rank has brought would be freed while others read it.
  void finish_sums() {
    group_->meet();
    if (overflows_) group_->end({schema::ErrorCode::kInternal, "a sum over ranks has more than 64 bits"});
  }
  std::vector<std::int64_t> sizes_of_all(std::int64_t mine) {
    std::vector<std::int64_t> sizes;
    for (const Brought& other :
         group_->show(rank_, {.call = "sizes of reduce_scatter", .integers = std::span(&mine, 1)}))
      sizes.push_back(other.integers[0]);
    group_->meet();
    return sizes;
  }

  const std::shared_ptr<Group> group_;   // all ranks meet in it; it goes with the last
  const int rank_;
  bool overflows_ = false;
};

}   // namespace

std::vector<std::unique_ptr<Comm>> make_thread_comms(int size) {
  const auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Comm>> comms;
  for (int rank = 0; rank < size; ++rank) comms.push_back(std::make_unique<ThreadComm>(group, rank));
  return comms;
}

}   // namespace kedge::engine
