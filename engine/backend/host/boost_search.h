// The best cut of a column in a node of boosting, from its histogram of integers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/backend/boost_functors.h"
#include "engine/backend/host/boost_table.h"

namespace kedge::engine {

// What the rows of a bin, or of a node, add up to: their gradients as whole numbers of a unit, and in one number their
// second derivatives (of another unit, from bit CutJudge::count_bits) and their count. One addition of a pair adds all
// three.
using BoostSum [[gnu::vector_size(16)]] = std::int64_t;

// Codes of a column that go to the left.
struct CodeSet {
  std::array<std::uint64_t, 4> words{};
  void insert(int code) { words[static_cast<std::size_t>(code / 64)] |= std::uint64_t{1} << (code % 64); }
  bool has(int code) const { return words[static_cast<std::size_t>(code / 64)] >> (code % 64) & 1; }
};

struct BoostCut {
  double gain = -1;
  std::int32_t column = -1, bin = 0;   // codes up to `bin` go left; of categories those in `left`
  bool is_category = false, missing_left = false;
  BoostSum left_sum{};
  CodeSet left;
};

// How cuts of a tree are judged. The units turn sums into doubles.
struct CutJudge {
  double gradient_unit = 1, hessian_unit = 1, l2 = 0;
  int count_bits = 28;
  std::int64_t least_rows = 20;
  double least_hessian = 1e-3;
  double gradient(BoostSum s) const { return static_cast<double>(s[0]) * gradient_unit; }
  double hessian(BoostSum s) const { return static_cast<double>(s[1] >> count_bits) * hessian_unit; }
  std::int64_t count(BoostSum s) const { return s[1] & ((std::int64_t{1} << count_bits) - 1); }
};

// A node as far as its cuts depend on it. value: what it predicts itself, within its bounds; low, high: bounds of its
// children.
struct CutNode {
  BoostSum sum{};
  double value = 0, low = 0, high = 0;
};

// The cut with the greatest gain, the first of equal ones; gain -1 without one. bins: n_bins() sums, then that of
// missing values where the column has them. monotonic: 1, -1 or 0. Gains are scikit-learn's, in double. Thread safe.
BoostCut best_cut(const CutJudge& judge, const CutNode& node, const BoostColumn& column, const BoostSum* bins,
                  int monotonic);

}   // namespace kedge::engine
