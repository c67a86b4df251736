// Bit-for-bit comparison of two grown forests.
#pragma once

#include <gmock/gmock.h>

#include "tests/unit/forest/forest_cases.h"

namespace kedge::engine::test {

inline void expect_same(const Grown& a, const Grown& b) {
  EXPECT_EQ(a.edges.offset, b.edges.offset);
  EXPECT_EQ(a.edges.low, b.edges.low);
  EXPECT_EQ(a.forest.tree_offset, b.forest.tree_offset);
  EXPECT_EQ(a.forest.feature, b.forest.feature);
  EXPECT_EQ(a.forest.bin, b.forest.bin);
  EXPECT_EQ(a.forest.threshold, b.forest.threshold);
  EXPECT_EQ(a.forest.left, b.forest.left);
  EXPECT_EQ(a.forest.right, b.forest.right);
  EXPECT_EQ(a.forest.value, b.forest.value);
  EXPECT_EQ(a.forest.impurity, b.forest.impurity);
  EXPECT_EQ(a.forest.weight, b.forest.weight);
  EXPECT_EQ(a.forest.mean, b.forest.mean);
  EXPECT_EQ(a.forest.n_rows, b.forest.n_rows);
  EXPECT_EQ(a.out_of_bag.sums, b.out_of_bag.sums);
  EXPECT_EQ(a.out_of_bag.n_trees, b.out_of_bag.n_trees);
  EXPECT_EQ(a.proba, b.proba);
  EXPECT_EQ(a.proba_of_values, b.proba_of_values);
}

}  // namespace kedge::engine::test
