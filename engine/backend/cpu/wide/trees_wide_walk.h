// Walking rows of codes through a packed tree with AVX-512.
#pragma once

#include <cstdint>

#include "engine/backend/host/coded_trees.h"
#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// A node of a packed tree; indices count from its root. The left child follows its parent. A leaf has limit
// 0, so that every row goes right, to itself, and keeps its only class, if it has one, in `feature`.
struct CodeNode {
  using Value = std::uint8_t;
  std::uint32_t right;
  std::uint32_t feature : 24, limit : 8;
  bool goes_left(std::uint8_t code) const { return code < limit; }
  static CodeNode inner(const Forest& f, std::int64_t i, std::uint32_t right) {
    return {right, static_cast<std::uint32_t>(f.feature[i]), f.bin[i] + 1u};
  }
  static CodeNode leaf(std::uint32_t self, std::uint32_t cls) { return {self, cls, 0}; }
};

// The leaves that rows have reached, in any order.
struct ReachedLeaves {
  static constexpr std::int64_t kRows = 512;
  std::uint32_t row[kRows + 16], node[kRows + 16],
      feature[kRows + 16];                            // room for a whole register behind the last
  std::uint32_t walking[kRows + 16], at[kRows + 16];  // rows that are still on their way, and where
};

// Walks n <= kRows rows, whose codes begin at codes + i * stride, to their leaves. n * stride < 2^31; reads
// up to 3 bytes behind a row. Only where WideNodes::is_available().
void find_leaves_wide(const CodeNode* nodes, const std::uint8_t* codes, std::int64_t stride, std::int64_t n,
                      ReachedLeaves& leaves);

// The same for rows of 16-bit codes and a tree of `trees` that sends missing values right; `feature` is the node's
// number. Reads up to 2 bytes behind a row.
void find_coded_leaves_wide(const CodedTrees& trees, std::int64_t tree, const CodedTrees::Code* codes, std::int64_t n,
                            ReachedLeaves& leaves);

}  // namespace kedge::engine
