// Looks for the best cut of a column in a node, or tries one at random.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/backend/host/tree_draft.h"
#include "engine/backend/host/tree_sums.h"

namespace kedge::engine {

// The best cut of a column: bins up to left_bin go left, right_bin is the next that the node has.
struct ColumnCut {
  double score = kRefusedCut;
  std::int32_t left_bin = 0, right_bin = 0;
  double threshold = kMidpoint;
  bool varies = false;       // the column has two values in the node
  std::int64_t column = 0;   // of a random cut: its column's place in the block
  bool found() const { return score > kRefusedCut; }
};

// One thread's working memory. Side judges cuts; Bins adds up the rows of each byte, unless kSums is false.
template <class Side, class Bins, bool kSums>
class ColumnScan {
 public:
  using Item = typename Side::Item;
  using Rows = typename Side::Rows;
  explicit ColumnScan(std::int32_t n_classes) : side_(n_classes), bins_(n_classes) {}
  Side& side() { return side_; }

  // Item i has byte code(i), i < n. side() knows the node.
  template <class Code>
  ColumnCut best_of_bytes(const Code& code, const Item* items, std::uint32_t n) {
    if (!kSums || n <= kFew) return best_of_few(code, items, n);
    if constexpr (kSums) {
      auto&& bins = bins_.access();
      std::uint64_t present[4] = {};
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint8_t bin = code(i);
        bins.add(bin, items[i]);
        present[bin / 64] |= std::uint64_t{1} << (bin % 64);
      }
      auto&& side = side_.swept();
      ColumnCut best;
      std::int32_t before = -1;
      for (std::int32_t word = 0; word < 4; ++word) {
        for (std::uint64_t bits = present[word]; bits != 0; bits &= bits - 1) {
          const std::int32_t bin = 64 * word + std::countr_zero(bits);
          if (before >= 0) look(side, before, bin, best);
          bins.move_to(static_cast<std::uint8_t>(bin), side);
          before = bin;
        }
      }
      return best;
    }
    return {};
  }

  // The node's items in the order of their ranks: rank << 32 | item.
  ColumnCut best_of_ranks(const std::uint64_t* list, const Item* items, std::uint32_t n) {
    auto&& side = side_.swept();
    ColumnCut best;
    std::uint64_t before = list[0] >> 32;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t rank = list[i] >> 32;
      if (rank != before) look(side, static_cast<std::int32_t>(before), static_cast<std::int32_t>(rank), best);
      side.add(items[static_cast<std::uint32_t>(list[i])]);
      before = rank;
    }
    return best;
  }

  // The first of the best among random cuts of the block's n_cols columns, one each; word k says where (place_cuts()).
  // Its threshold is the value drawn; it varies if any of the columns does. side() knows the node's rows.
  ColumnCut best_at_random(CodeBlock& block, std::int64_t n_cols, const BinEdges& edges, const std::uint32_t* features,
                           const CutWords& words) {
    block.ranges(places_.least.data(), places_.most.data());
    place_cuts(n_cols, edges, features, words, places_);
    if (!places_.any_varies) return {};
    side_.sum_cuts(block, places_.left.data());
    side_.score_cuts(scores_.data(), static_cast<std::size_t>(n_cols));
    const std::int64_t k = first_best(n_cols, scores_);
    return {.score = scores_[k], .left_bin = places_.left[k], .right_bin = places_.left[k] + 1, .threshold = places_.threshold[k],
            .varies = true, .column = k};
  }

 private:
  static constexpr std::uint32_t kFew = 6;   // up to here sorting is faster than adding up bins

  template <class Swept>
  static void look(const Swept& side, std::int32_t left, std::int32_t right, ColumnCut& best) {
    best.varies = true;
    const double score = side.score();
    if (score > best.score) best.score = score, best.left_bin = left, best.right_bin = right;
  }

  template <class Code>
  ColumnCut best_of_few(const Code& code, const Item* items, std::uint32_t n) {
    keys_.resize(std::max<std::size_t>(keys_.size(), n));
    std::uint64_t* const keys = keys_.data();
    for (std::uint32_t i = 0; i < n; ++i) keys[i] = std::uint64_t{code(i)} << 32 | i;
    if (n > kFew) {
      std::sort(keys, keys + n);
    } else {
      for (std::uint32_t i = 1; i < n; ++i) {
        const std::uint64_t key = keys[i];
        std::uint32_t place = i;
        for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
        keys[place] = key;
      }
    }
    return keys[0] >> 32 == keys[n - 1] >> 32 ? ColumnCut{} : best_of_ranks(keys, items, n);
  }

  Side side_;
  Bins bins_;
  std::vector<std::uint64_t> keys_;
  CutPlaces places_{};
  std::array<double, CodeBlock::kMost> scores_{};
};

}  // namespace kedge::engine
