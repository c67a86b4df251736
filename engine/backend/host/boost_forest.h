// The trees of boosting as they predict: flat nodes, cuts on values, sets of categories.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/host/coded_trees.h"
#include "engine/core/view.h"

namespace kedge::engine {

// Trees one after the other, n_outputs of them an iteration. Children lie behind their parent, the right one after the
// left.
struct BoostForest {
  std::int64_t n_cols = 0;
  std::int32_t n_outputs = 1;
  std::vector<std::int64_t> tree_offset{0};   // n_trees + 1
  std::vector<std::int32_t> feature;          // -1 for a leaf
  std::vector<double> threshold;              // values up to it go left; infinite: all but missing ones
  std::vector<std::int32_t> left;             // absolute; the right child is left + 1
  std::vector<std::uint8_t> missing_left;
  std::vector<std::int32_t> set;               // of categories on the left; -1 for a cut on values
  std::vector<double> value;                   // of a leaf, learning rate included
  std::vector<double> gain;                    // of a cut
  std::vector<std::int32_t> n_rows;            // of the node
  std::vector<std::uint8_t> sets;              // 32 bytes each: bit c % 8 of byte c / 8 is code c
  std::vector<std::int32_t> category_offset;   // n_cols + 1: categories of column j; none: numbers
  std::vector<double> categories;              // ascending; code c is the c-th
  std::int64_t n_trees() const { return static_cast<std::int64_t>(tree_offset.size()) - 1; }
  std::int64_t n_nodes() const { return static_cast<std::int64_t>(feature.size()); }
};

// Adds what trees first .. n_trees - 1 predict for the rows of X that are named (host memory; empty: all) to raw
// (n_outputs x rows, output by output). Unknown categories count as missing. O(trees * depth) a row.
template <class T>
void add_boosted(const BoostForest& forest, std::int64_t first, MatrixView<const T> X,
                 std::span<const std::int32_t> rows, std::span<double> raw);

// The trees packed for add_coded(). Null where they have sets of categories, or cannot be coded.
std::unique_ptr<const CodedTrees> coded_trees(const BoostForest& forest);

// As add_boosted() with all trees and rows, the same bits, of a forest that is asked again and again.
template <class T>
void add_coded(const CodedTrees& trees, const BoostForest& forest, MatrixView<const T> X, std::span<double> raw);

}   // namespace kedge::engine
