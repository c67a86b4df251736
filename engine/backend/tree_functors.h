// The formulas of tree growing that the CPU and the CUDA body share, so that both give the same bits. Compiled without fused
// multiply-adds on both sides (-ffp-contract=off, --fmad=false).
#pragma once

#include <cstdint>

#include "engine/core/portability.h"
#include "engine/core/rng.h"

namespace kedge::engine {

// --- random numbers of a forest: keyed by tree and node path, so that the order of growth does not matter ---

// Scrambles 64 bits (the finaliser of splitmix64; Steele, Lea, Flood 2014).
KEDGE_HD inline std::uint64_t mix_bits(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
KEDGE_HD inline std::uint64_t tree_root_key(std::int64_t tree) { return mix_bits(static_cast<std::uint64_t>(tree)); }
KEDGE_HD inline std::uint64_t tree_child_key(std::uint64_t parent, bool right) { return mix_bits(parent + (right ? 2 : 1)); }

// Position in [0, n) of the row that draw `i` of a tree's bootstrap sample takes.
KEDGE_HD inline std::uint32_t bootstrap_pick(const std::uint32_t* words, std::uint64_t n) {
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32) | words[1];
  return static_cast<std::uint32_t>(((bits >> 32) * n + (((bits & 0xffffffffu) * n) >> 32)) >> 32);
}
// Two draws come from each block of this stream.
KEDGE_HD inline std::uint64_t bootstrap_stream(std::int64_t tree) { return mix_bits(tree_root_key(tree) ^ 0x626F6F7473747261u); }

// Step j of the Fisher-Yates shuffle that orders a node's columns swaps j with j + feature_step(word, d - j); word j of the
// stream named by the node's key. Its bias is below d / 2^32.
KEDGE_HD inline std::uint32_t feature_step(std::uint32_t word, std::uint32_t left) {
  return static_cast<std::uint32_t>((std::uint64_t{word} * left) >> 32);
}

// Words of this stream, one for each column in the order in which a node draws them, say where between the column's least and
// greatest value in the node its random cut lies.
KEDGE_HD inline std::uint64_t random_cut_stream(std::uint64_t node_key) { return mix_bits(node_key ^ 0x637574u); }
KEDGE_HD inline double random_cut_share(std::uint32_t word) { return word * 0x1.0p-32; }
// That place between the column's values `first` and `last`; never `last` itself.
KEDGE_HD inline double random_cut_value(double first, double last, std::uint32_t word) {
  const double drawn = first + random_cut_share(word) * (last - first);
  return drawn < last ? drawn : first;   // also where the width overflows
}

// The same as scikit-learn draws it, from a word below 2^31; `last` itself becomes `first`.
KEDGE_HD inline double sklearn_cut_value(double first, double last, std::uint32_t word) {
  const double drawn = (last - first) * static_cast<double>(word) / 2147483647.0 + first;
  return drawn < last ? drawn : first;
}

// --- impurity ---

// Natural logarithm of a positive normal number within 2 ulp: reduction to [sqrt(1/2), sqrt(2)), then the series of
// 2 atanh(s), s = (m - 1) / (m + 1). Own code because libm and CUDA differ in the last bit.
KEDGE_HD inline double tree_log(double x) {
  union { double d; std::uint64_t u; } bits{x};
  int exponent = static_cast<int>(bits.u >> 52) - 1023;
  bits.u = (bits.u & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  double m = bits.d;
  if (m > 1.4142135623730951) m *= 0.5, ++exponent;
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 21;
  p = p * z + 1.0 / 19, p = p * z + 1.0 / 17, p = p * z + 1.0 / 15, p = p * z + 1.0 / 13, p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9, p = p * z + 1.0 / 7, p = p * z + 1.0 / 5, p = p * z + 1.0 / 3;
  return exponent * 0.6931471805599453 + (2.0 * s + 2.0 * s * (p * z));
}
KEDGE_HD inline double x_log_x(double x) { return x > 0 ? x * tree_log(x) : 0; }

// One side of a split, summed over the classes in their order. Gini: sum of squares; entropy: sum of x log x.
struct SideSum {
  double weight = 0, power = 0;
  int present = 0;   // classes with weight
  KEDGE_HD void add(double x, bool entropy) {
    if (!(x > 0)) return;
    weight += x, power += entropy ? x * tree_log(x) : x * x, ++present;
  }
};
// What a side contributes to the score of a split; a higher total means a lower weighted impurity.
KEDGE_HD inline double side_score(const SideSum& side, bool entropy) {
  return entropy ? side.power - x_log_x(side.weight) : side.power / side.weight;
}
// The same for gini without weights, from exact integers.
KEDGE_HD inline double gini_score(std::int64_t left_squares, std::int64_t left, std::int64_t right_squares, std::int64_t right) {
  return static_cast<double>(left_squares) / static_cast<double>(left) +
         static_cast<double>(right_squares) / static_cast<double>(right);
}
// What a side of values contributes to the score of a split by half the Poisson deviance, up to what all cuts share.
KEDGE_HD inline double poisson_score(double sum, double weight) { return sum * tree_log(sum / weight); }

// How the cuts of one tree are judged. class_weight: by class, or null for 1 each.
struct CutRules {
  bool entropy = false;
  const double* class_weight = nullptr;
  double min_weight_leaf = 0;
};
inline constexpr double kRefusedCut = -1e300;

// Score of the cut with left(c) drawn rows of class c on the left of a node with counts[c] in all, `drawn` together;
// kRefusedCut if a side is too light.
template <class Count, class Left>
KEDGE_HD double cut_score(const CutRules& rules, std::int32_t n_classes, const Count* counts, std::int64_t drawn, const Left& left) {
  if (!rules.entropy && !rules.class_weight) {
    std::int64_t sum = 0, left_squares = 0, right_squares = 0;
    for (std::int32_t c = 0; c < n_classes; ++c) {
      const std::int64_t l = left(c), r = counts[c] - l;
      sum += l, left_squares += l * l, right_squares += r * r;
    }
    if (static_cast<double>(sum) < rules.min_weight_leaf || static_cast<double>(drawn - sum) < rules.min_weight_leaf) return kRefusedCut;
    return gini_score(left_squares, sum, right_squares, drawn - sum);
  }
  SideSum left_side, right_side;
  for (std::int32_t c = 0; c < n_classes; ++c) {
    const double weight = rules.class_weight ? rules.class_weight[c] : 1.0;
    left_side.add(weight * left(c), rules.entropy);
    right_side.add(weight * (counts[c] - left(c)), rules.entropy);
  }
  const double least = rules.min_weight_leaf;
  if (!(left_side.weight > 0) || !(right_side.weight > 0) || left_side.weight < least || right_side.weight < least) return kRefusedCut;
  return side_score(left_side, rules.entropy) + side_score(right_side, rules.entropy);
}

// Whether a side is too light for a cut, by whole numbers of a fixed unit; min_weight is in that unit.
KEDGE_HD inline bool is_too_light(double min_weight, std::int64_t left, std::int64_t right) {
  return left <= 0 || right <= 0 || static_cast<double>(left) < min_weight || static_cast<double>(right) < min_weight;
}
// Whether squares of the node's weight fit into 64 bits, so that gini is judged by exact integers.
KEDGE_HD inline bool has_exact_squares(bool entropy, std::int64_t weight) { return !entropy && weight < (std::int64_t{1} << 31); }
// Score of a cut of weighted classes, from the whole numbers that the rows of each class weigh: total[c] in the node, left(c) on the left.
template <class Left>
KEDGE_HD double share_score(bool entropy, std::int32_t n_classes, const std::int64_t* total, const Left& left) {
  SideSum left_side, right_side;
  for (std::int32_t c = 0; c < n_classes; ++c) {
    left_side.add(static_cast<double>(left(c)), entropy);
    right_side.add(static_cast<double>(total[c] - left(c)), entropy);
  }
  return side_score(left_side, entropy) + side_score(right_side, entropy);
}
// The same, from exact integers where they fit; kRefusedCut if a side is too light. weight: of the node.
template <class Left>
KEDGE_HD double share_cut_score(bool entropy, double min_weight, std::int32_t n_classes, const std::int64_t* total, std::int64_t weight,
                                const Left& left) {
  std::int64_t left_weight = 0, left_squares = 0, right_squares = 0;
  const bool exact = has_exact_squares(entropy, weight);
  for (std::int32_t c = 0; c < n_classes; ++c) {
    const std::int64_t l = left(c), r = total[c] - l;
    left_weight += l;
    if (exact) left_squares += l * l, right_squares += r * r;
  }
  if (is_too_light(min_weight, left_weight, weight - left_weight)) return kRefusedCut;
  return exact ? gini_score(left_squares, left_weight, right_squares, weight - left_weight) : share_score(entropy, n_classes, total, left);
}
// The same for values, from what the rows of the node and those on the left weigh and sum up to.
KEDGE_HD inline double value_cut_score(bool poisson, double min_weight, std::int64_t weight, std::int64_t left_weight, std::int64_t sum,
                                       std::int64_t left_sum) {
  if (is_too_light(min_weight, left_weight, weight - left_weight)) return kRefusedCut;
  const auto l = static_cast<double>(left_weight), r = static_cast<double>(weight - left_weight);
  const auto sl = static_cast<double>(left_sum), sr = static_cast<double>(sum - left_sum);
  if (poisson) return sl > 0 && sr > 0 ? poisson_score(sl, l) + poisson_score(sr, r) : kRefusedCut;
  return sl * sl / l + sr * sr / r;
}

// What a row of values adds to the impurity of a node with this mean: the squared error, or half the Poisson deviance.
KEDGE_HD inline double value_error(double value, double mean, bool poisson) {
  if (poisson) return value > 0 ? value * tree_log(value / mean) : 0;
  return (value - mean) * (value - mean);
}
// A node's rows are summed in tiles of this many by kLanes lanes, which fold by halves; then the tiles in order.
inline constexpr std::int32_t kSumTile = 1024;

// Gini impurity, or entropy in bits, of a node.
KEDGE_HD inline double node_impurity(const SideSum& node, bool entropy) {
  if (node.present < 2) return 0;
  const double impurity = entropy ? (tree_log(node.weight) - node.power / node.weight) * 1.4426950408889634
                                  : 1.0 - node.power / (node.weight * node.weight);
  return impurity > 0 ? impurity : 0;
}
// A node at or below this impurity is not split, as in scikit-learn.
inline constexpr double kPureImpurity = 2.220446049250313e-16;

// --- nodes ---

// What a node must have to be split.
struct SplitLimits {
  std::int32_t max_depth = 0x7fffffff;
  std::int64_t min_samples_split = 2, min_samples_leaf = 1;
};
// min_weight_leaf: the weight that a leaf of the node's tree must have.
KEDGE_HD inline bool may_split(const SplitLimits& limits, std::int32_t depth, std::int64_t n_rows, double weight,
                               double impurity, double min_weight_leaf) {
  return depth < limits.max_depth && n_rows >= limits.min_samples_split && n_rows >= 2 * limits.min_samples_leaf &&
         !(weight < 2 * min_weight_leaf) && impurity > kPureImpurity;
}

// The weight and the impurity of a node, or of a part of it.
struct WeightedImpurity {
  double weight, impurity;
};
// How much a split lowers the impurity, as a share of the tree (scikit-learn's rule).
KEDGE_HD inline double split_improvement(double tree_weight, WeightedImpurity node, WeightedImpurity left,
                                         WeightedImpurity right) {
  return node.weight / tree_weight *
         (node.impurity - right.weight / node.weight * right.impurity - left.weight / node.weight * left.impurity);
}

// --- thresholds ---

// Where to cut a column between two neighbouring bins that are present in a node.
struct Cut {
  std::int32_t bin = 0;
  double threshold = 0;
};
// Between a and b, a < b: a <= the result < b, also if the midpoint rounds or overflows.
KEDGE_HD inline double middle_of(double a, double b) {
  const double middle = a / 2 + b / 2;
  return middle < b && middle >= a ? middle
                                   : a;   // the halves of neighbouring numbers may round up to b; b may be infinite
}
// low, high: the edges of the column's bins. The threshold is the midpoint, as in scikit-learn; where that falls into a
// quantile bin that the node does not have, the next gap between bins, so that bytes and values always go the same way.
KEDGE_HD inline Cut choose_cut(const double* low, const double* high, std::int32_t left_bin, std::int32_t right_bin) {
  double threshold = middle_of(high[left_bin], low[right_bin]);
  std::int32_t bin = left_bin,
               end = right_bin > left_bin + 1 ? right_bin : left_bin + 1;   // the last one with low <= threshold
  while (bin + 1 < end) {
    const std::int32_t middle = bin + (end - bin) / 2;
    if (threshold < low[middle]) end = middle;
    else bin = middle;
  }
  if (high[bin] > threshold) threshold = middle_of(high[bin], low[bin + 1]);
  return {bin, threshold};
}
// The threshold of a random cut between bins that end at `end` and begin at `next`: the value drawn, where it lies
// between them.
KEDGE_HD inline double random_threshold(double end, double next, double drawn) {
  return drawn >= end && drawn < next ? drawn : middle_of(end, next);
}

}  // namespace kedge::engine
