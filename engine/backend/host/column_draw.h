// The columns of a node in random order.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/backend/host/philox_run.h"
#include "engine/backend/tree_functors.h"

namespace kedge::engine {

// Drawn as they are needed; the stream is named by the node's key. Not thread safe.
class ColumnDraw {
 public:
  explicit ColumnDraw(std::int64_t n_cols) : order_(static_cast<std::size_t>(n_cols)), other_(order_.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  void start(std::uint64_t seed, std::uint64_t key) {
    for (std::uint32_t j = 0; j < drawn_; ++j) order_[j] = j, order_[other_[j]] = other_[j];
    seed_ = seed, key_ = key, drawn_ = 0;
  }
  std::int64_t left() const { return static_cast<std::int64_t>(order_.size()) - drawn_; }
  std::uint32_t drawn() const { return drawn_; }
  // Draws the next n, n <= left().
  void take(std::int64_t n, std::uint32_t* out) {
    for (; n > 0; --n, ++drawn_) {
      if (drawn_ % kWords == 0) philox_run(seed_, key_, drawn_ / 4, words_);
      const auto undrawn = static_cast<std::uint32_t>(order_.size()) - drawn_;
      const std::uint32_t other = drawn_ + feature_step(words_[drawn_ % kWords], undrawn);
      std::swap(order_[drawn_], order_[other]);
      other_[drawn_] = other;
      *out++ = order_[drawn_];
    }
  }

 private:
  static constexpr std::uint32_t kWords = 4 * kPhiloxRun;
  std::vector<std::uint32_t> order_, other_;   // other_: by draw, where it swapped its column with
  std::uint32_t words_[kWords] = {}, drawn_ = 0;
  std::uint64_t seed_ = 0, key_ = 0;
};

}  // namespace kedge::engine
