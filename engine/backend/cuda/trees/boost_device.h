// What the files of boosting on the device share: records that the host writes and kernels read, or the other way
// round.
#pragma once

#include <cstdint>

#include "engine/backend/boost_functors.h"

namespace kedge::engine {

inline constexpr int kBoostCodes = 256;                // places of a column in a histogram
inline constexpr int kBoostWidth = 16;                 // columns whose bytes lie side by side, as one access
inline constexpr std::int64_t kBoostPartRows = 2048;   // that a block parts, or adds up for a leaf
inline constexpr std::int64_t kBoostLossRows = 4096;   // whose losses are added up in order: kRowChunk of the host

// What rows of a bin, or of a node, add up to: as BoostSum.
struct BoostBin {
  std::int64_t gradients, rest;   // rest: second derivatives from bit kManyCountBits on, and the count
};

// A column as the search for cuts knows it.
struct DeviceBoostColumn {
  std::int32_t n_bins = 0;
  std::int8_t is_category = 0, has_missing = 0, monotonic = 0;
};

// The best cut of a column, or of a node; column -1 and no gain where there is none.
struct DeviceBoostCut {
  double gain = -1;
  BoostBin left{}, total{};    // total: of the node
  std::uint32_t set[8] = {};   // codes on the left, of categories
  std::int32_t column = -1, bin = 0;
  std::int32_t is_category = 0, missing_left = 0;
};

// A node that a round parts. Of its children the smaller one is added up, the larger is what is left of it.
struct BoostTask {
  struct Child {
    double value = 0, low = 0, high = 0;   // as CutNode
    std::int32_t is_open = 0;              // a cut of it is wanted
  };
  std::int64_t begin = 0, n = 0, n_left = 0;     // its rows; n_left: how many go left
  std::int64_t first_part = 0, first_add = 0;    // blocks of part_boost_rows and add_boost_rows before its own
  std::uint32_t n_put[2] = {};                   // rows that have been put left and right
  std::uint32_t goes_left[8] = {};               // a bit for each code
  std::int32_t column = 0, list = 0;             // list: of its rows; the children's is the other
  std::int32_t is_left_small = 0, masks = -1;    // masks: the first of two by child, small one first; -1: none
  BoostBin *small = nullptr, *large = nullptr;   // histograms; small: null: no cut is wanted. large: the node's own
  Child children[2];                             // the smaller first
};

// Rows of a leaf that lie together.
struct BoostLeafRows {
  std::int64_t begin = 0, n = 0, first_block = 0;
  std::int32_t leaf = 0, list = 0;
  std::int32_t is_first = 0;   // of its leaf
};
struct DeviceBoostLeaf {
  std::int64_t n_rows = 0;
  double low = 0, high = 0;
};

// A node of a finished tree as rows that validate walk it.
struct BoostWalkNode {
  std::uint32_t goes_left[8] = {};
  std::int32_t column = -1, left = 0;   // of a leaf: -1, and which leaf
};

// The first of n ascending begins that is behind `block`, less one: whose block it is.
template <class Record>
KEDGE_HD std::int32_t record_of(const Record* records, std::int32_t n, std::int64_t Record::* first,
                                std::int64_t block) {
  std::int32_t low = 0, high = n;
  while (high - low > 1) {
    const std::int32_t middle = (low + high) / 2;
    if (records[middle].*first <= block) low = middle;
    else high = middle;
  }
  return low;
}

}   // namespace kedge::engine
