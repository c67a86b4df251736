// Random cuts of several columns at once: the columns of a node lie side by side, so that all codes of a row are compared
// together.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

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

// Where columns are cut: column k of a node has the bins begin[k] .. begin[k] + width[k] of all bins, and is cut at the share
// at[k] of the way from its least to its greatest value.
struct CutPlaces {
  std::array<std::int32_t, CodeBlock::kMost> begin, width;
  std::array<double, CodeBlock::kMost> at;
  std::array<double, CodeBlock::kMost> threshold;    // the value drawn
  std::array<std::int32_t, CodeBlock::kMost> left;   // the last bin on the left, counted from begin[k]
};
void place_cuts(std::int64_t n_cols, const double* low, const double* high, CutPlaces& places);

// What the sides of one cut have in common with those of all others.
struct NodeSums {
  std::int64_t rows, weight, sum;
  double min_rows, min_weight;
};
// scores[k] = square of the left sum / its weight + that of the right, or kRefusedCut where a side is too light.
void score_means(std::int64_t n_cols, const NodeSums& node, const std::int32_t* rows, const std::int64_t* weights,
                 const std::int64_t* sums, double* scores);

}   // namespace kedge::engine
