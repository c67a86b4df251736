// Bit-for-bit comparison of two grown forests.
#pragma once

#include <gmock/gmock.h>

#include "tests/unit/forest/forest_cases.h"

namespace kedge::engine::test {

inline void expect_same(const Forest& a, const Forest& b) {
  EXPECT_EQ(a.tree_offset, b.tree_offset);
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.bin, b.bin);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.right, b.right);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.impurity, b.impurity);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.n_rows, b.n_rows);
}

// b may have a forest that has stayed on its device.
inline void expect_same(const Grown& a, const Grown& b) {
  EXPECT_EQ(a.edges.offset, b.edges.offset);
  EXPECT_EQ(a.edges.low, b.edges.low);
  expect_same(a.forest, b.forest);
  if (b.stayed) {
    expect_same(a.forest, *b.stayed);
    EXPECT_EQ(a.proba, b.proba_of_stayed);
  }
  EXPECT_EQ(a.out_of_bag.sums, b.out_of_bag.sums);
  EXPECT_EQ(a.out_of_bag.n_trees, b.out_of_bag.n_trees);
  EXPECT_EQ(a.proba, b.proba);
  EXPECT_EQ(a.proba_of_values, b.proba_of_values);
}

}  // namespace kedge::engine::test
