// Looks for the best cut of one column in one node, or tries one at random.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/backend/host/tree_draft.h"
#include "engine/backend/host/tree_sums.h"

namespace kedge::engine {

// The best cut of a column: bins up to left_bin go left, right_bin is the next that the node has.
struct ColumnCut {
  double score = kRefusedCut;
  std::int32_t left_bin = 0, right_bin = 0;
  double threshold = kMidpoint;
  bool varies = false;   // the column has two values in the node
  bool found() const { return score > kRefusedCut; }
};

// One thread's working memory. Side judges cuts; Bins adds up the rows of each byte, unless kSums is false.
template <class Side, class Bins, bool kSums>
class ColumnScan {
 public:
  using Item = typename Side::Item;
  explicit ColumnScan(std::int32_t n_classes) : side_(n_classes), bins_(n_classes) {}
  Side& side() { return side_; }

  // Item i has byte code(i), i < n. side() knows the node.
  template <class Code>
  ColumnCut best_of_bytes(const Code& code, const Item* items, std::uint32_t n) {
    if (!kSums || n <= kFew) return best_of_few(code, items, n);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint8_t bin = code(i);
      if constexpr (kSums) bins_.add(bin, items[i]);
      present_[bin] = 1;
    }
    side_.clear();
    ColumnCut best;
    std::int32_t before = -1;
    for (std::int32_t word = 0; word < 256; word += 8) {
      std::uint64_t bits;
      std::memcpy(&bits, present_.data() + word, 8);
      for (; bits != 0; bits &= bits - 1) {
        const std::int32_t bin = word + std::countr_zero(bits) / 8;
        if (before >= 0) look(before, bin, best);
        if constexpr (kSums) bins_.move_to(static_cast<std::uint8_t>(bin), side_);
        before = bin;
      }
    }
    present_.fill(0);
    return best;
  }

  // The node's items in the order of their ranks: rank << 32 | item.
  ColumnCut best_of_ranks(const std::uint64_t* list, const Item* items, std::uint32_t n) {
    side_.clear();
    ColumnCut best;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto rank = static_cast<std::int32_t>(list[i] >> 32);
      if (i > 0 && list[i - 1] >> 32 != list[i] >> 32) look(static_cast<std::int32_t>(list[i - 1] >> 32), rank, best);
      side_.add(items[static_cast<std::uint32_t>(list[i])]);
    }
    return best;
  }

  // One cut at the share `at` of the way from the column's least to its greatest value in the node; edges of the column.
  template <class Code>
  ColumnCut random(const Code& code, const Item* items, std::uint32_t n, const double* low, const double* high, double at) {
    codes_.resize(n);
    std::int32_t least = 0x7fffffff, most = -1;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto bin = static_cast<std::int32_t>(code(i));
      codes_[i] = bin, least = std::min(least, bin), most = std::max(most, bin);
    }
    ColumnCut cut;
    if (least >= most) return cut;
    cut.varies = true;
    double threshold = low[least] + at * (high[most] - low[least]);
    if (!(threshold < high[most])) threshold = low[least];   // also where the width overflows
    const auto beyond = std::upper_bound(high + least, high + most, threshold) - high;
    cut.left_bin = std::max(least, static_cast<std::int32_t>(beyond) - 1), cut.right_bin = cut.left_bin + 1;
    const double end = high[cut.left_bin], next = low[cut.right_bin];
    cut.threshold = threshold >= end && threshold < next ? threshold : middle_of(end, next);
    side_.clear();
    for (std::uint32_t i = 0; i < n; ++i) side_.add_where(items[i], codes_[i] <= cut.left_bin);
    side_.settle();
    cut.score = side_.score();
    return cut;
  }

 private:
  static constexpr std::uint32_t kFew = 16;

  void look(std::int32_t left, std::int32_t right, ColumnCut& best) const {
    best.varies = true;
    const double score = side_.score();
    if (score > best.score) best.score = score, best.left_bin = left, best.right_bin = right;
  }

  template <class Code>
  ColumnCut best_of_few(const Code& code, const Item* items, std::uint32_t n) {
    keys_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) keys_[i] = std::uint64_t{code(i)} << 32 | i;
    if (n > kFew) {
      std::sort(keys_.begin(), keys_.end());
    } else {
      for (std::uint32_t i = 1; i < n; ++i) {
        const std::uint64_t key = keys_[i];
        std::uint32_t place = i;
        for (; place > 0 && keys_[place - 1] > key; --place) keys_[place] = keys_[place - 1];
        keys_[place] = key;
      }
    }
    if (n == 0 || keys_[0] >> 32 == keys_[n - 1] >> 32) return {};
    return best_of_ranks(keys_.data(), items, n);
  }

  Side side_;
  Bins bins_;
  std::array<std::uint8_t, 256> present_{};
  std::vector<std::uint64_t> keys_;
  std::vector<std::int32_t> codes_;
};

}  // namespace kedge::engine
