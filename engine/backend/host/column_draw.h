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
    std::uint32_t *const order = order_.data(), *const others = other_.data(), n_drawn = drawn_;
    for (std::uint32_t j = 0; j < n_drawn; ++j) order[j] = j, order[others[j]] = others[j];
    seed_ = seed, key_ = key, drawn_ = 0;
  }
  std::int64_t left() const { return static_cast<std::int64_t>(order_.size()) - drawn_; }
  std::uint32_t drawn() const { return drawn_; }
  // Draws the next n, n <= left().
  void take(std::int64_t n, std::uint32_t* out) {
    std::uint32_t *const order = order_.data(), *const others = other_.data(), drawn = drawn_;
    const auto n_cols = static_cast<std::uint32_t>(order_.size());
    for (const auto end = static_cast<std::uint32_t>(drawn + n); drawn < end; ++drawn) {
      if (drawn % kWords == 0) philox_run(seed_, key_, drawn / 4, words_);
      const std::uint32_t other = drawn + feature_step(words_[drawn % kWords], n_cols - drawn), col = order[other];
      order[other] = order[drawn], order[drawn] = col;
      others[drawn] = other, *out++ = col;
    }
    drawn_ = drawn;
  }

 private:
  static constexpr std::uint32_t kWords = 4 * kPhiloxRun;
  std::vector<std::uint32_t> order_, other_;   // other_: by draw, where it swapped its column with
  std::uint32_t words_[kWords] = {}, drawn_ = 0;
  std::uint64_t seed_ = 0, key_ = 0;
};

}  // namespace kedge::engine
