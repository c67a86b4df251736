// Random cuts of several columns at once: the columns of a node lie side by side, so that all codes of a row are compared
// together.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// The codes of a node's rows in up to kMost columns, row-major; places beyond the columns hold anything. Reused memory.
class CodeBlock {
 public:
  static constexpr std::int64_t kMost = 64;

  // Column k has code(i, k) in row i.
  template <class Code>
  void fill(std::uint32_t n_rows, std::int64_t n_cols, const Code& code) {
    resize(n_rows, n_cols);
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t k = 0; k < n_cols; ++k) codes_[i * width_ + k] = code(static_cast<std::uint32_t>(i), k);
  }
  // The same from the bytes of a table by row, `stride` a row (a multiple of 64), whose columns[k] are taken. Only where
  // can_gather(stride).
  void gather(const std::uint8_t* row_codes, std::int64_t stride, const std::uint32_t* rows, std::uint32_t n_rows,
              const std::uint32_t* columns, std::int64_t n_cols);
  static bool can_gather(std::int64_t stride);

  std::uint8_t at(std::int64_t row, std::int64_t col) const { return codes_[row * width_ + col]; }

  // Least and greatest code of each column.
  void ranges(std::uint8_t* least, std::uint8_t* most) const;
  // sums[group[i] * kMost + k] += value[i] for the rows i with a code up to left_bin[k] in column k; without `group`, sums[k].
  void sum_left(const std::uint8_t* left_bin, const std::int64_t* value, const std::int32_t* group, std::int64_t* sums) const;
  // The same for a value of 1; n_groups is 1 without `group`.
  void count_left(const std::uint8_t* left_bin, const std::int32_t* group, std::int32_t n_groups, std::int32_t* counts);

 private:
  void resize(std::uint32_t n_rows, std::int64_t n_cols);

  std::int64_t n_ = 0, width_ = 16;   // width_: bytes of a row; 16, 32 or 64
  std::vector<std::uint8_t> codes_, tally_;
};

// Where the columns of a block are cut: column k has the bins least[k] .. most[k] in the node.
struct CutPlaces {
  std::array<std::uint8_t, CodeBlock::kMost> least, most;
  std::array<std::uint8_t, CodeBlock::kMost> left{};   // the last bin on the left
  std::array<double, CodeBlock::kMost> threshold;      // the value drawn
  bool any_varies = false;                             // a column has two bins
};
// One drawn word for each column, and what they mean.
struct CutWords {
  const std::uint32_t* word;
  TreeDraws draws = TreeDraws::kByNode;
};
// Cuts columns[k] as far from its least to its greatest value in the node as its word says: random_cut_value(), or
// sklearn_cut_value(); the ranges of bins are given.
void place_cuts(std::int64_t n_cols, const BinEdges& edges, const std::uint32_t* columns, const CutWords& words,
                CutPlaces& places);

// What the sides of one cut have in common with those of all others.
struct NodeSums {
  std::int64_t rows, weight, sum;
  double min_rows, min_weight;
};
// scores[k] = square of the left sum / its weight + that of the right, or kRefusedCut where a side is too light.
void score_means(std::int64_t n_cols, const NodeSums& node, const std::int32_t* rows, const std::int64_t* weights,
                 const std::int64_t* sums, double* scores);
// The same from the squares of the classes' weights. rows[c * kMost + k] of class c are on the left of cut k; each weighs
// row_weight, unless there are weights[c * kMost + k]. total: weight by class.
void score_shares(std::int64_t n_cols, std::int32_t n_classes, const NodeSums& node, const std::int64_t* total,
                  const std::int32_t* rows, std::int64_t row_weight, const std::int64_t* weights, double* scores);
// The first of the greatest scores.
std::int64_t first_best(std::int64_t n_cols, const std::array<double, CodeBlock::kMost>& scores);

// out[i] = from[order[i]], i < n.
void take(const std::int32_t* from, const std::uint32_t* order, std::int64_t n, std::int32_t* out);
void take(const std::int64_t* from, const std::uint32_t* order, std::int64_t n, std::int64_t* out);
// counts[c] = how many of the n are c.
void count_values(const std::int32_t* values, std::int64_t n, std::int32_t n_counts, std::int64_t* counts);

}   // namespace kedge::engine
