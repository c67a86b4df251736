// Contributions of trees: a device that counts them itself gives the bits of the host's walk, whose numbers are checked
// against the definition and shap in tests/unit/engine/contributions_test.cc. Devices that leave them to the host have
// nothing to check here.
#include "tests/parity/shap_rows.h"

#include <limits>

#include "engine/backend/host/tree_shap.h"
#include "engine/backend/ops/tree_shap.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
namespace flag = engine::walk_flag;

enum class Leaves { kOfAllOutputs, kOfOneOutput };

class ShapGrower {
 public:
  ShapGrower(Leaves leaves, bool is_strict, std::int64_t n_cols, std::int32_t n_outputs)
      : has_output_(leaves == Leaves::kOfOneOutput) {
    trees_.n_cols = n_cols, trees_.n_outputs = n_outputs, trees_.scale = 0.3;
    trees_.cuts.is_strict = is_strict;
    trees_.cuts.set_offset = {0, 1, 3}, trees_.cuts.set_words = {0x5a5a1234U, 0x00ff00ffU, 0xdeadbeefU};
    for (std::int32_t c = 0; has_output_ && c < n_outputs; ++c) trees_.base.push_back(0.3 - 0.7 * c);
  }
  engine::ShapTrees& trees() { return trees_; }

  // A tree of this depth; one branch has all of it, the others end somewhere.
  void add(int depth, bool is_chain) {
    if (has_output_) trees_.tree_output.push_back(static_cast<std::int32_t>(trees_.n_trees()) % trees_.n_outputs);
    grow(depth, is_chain, 1000);
    trees_.tree_offset.push_back(static_cast<std::int64_t>(trees_.feature.size()));
  }

 private:
  std::int32_t grow(int depth, bool is_chain, double cover) {
    const std::size_t node = trees_.feature.size();
    const bool is_leaf = depth == 0 || (!is_chain && random_.below(6) == 0);
    const auto column = static_cast<std::int32_t>(is_chain ? depth % static_cast<int>(trees_.n_cols)
                                                           : random_.below(static_cast<std::uint32_t>(trees_.n_cols)));
    trees_.feature.push_back(is_leaf ? -1 : column), trees_.cover.push_back(cover);
    trees_.left.push_back(0), trees_.right.push_back(0);
    for (std::int32_t k = 0; k < (has_output_ ? 1 : trees_.n_outputs); ++k)
      trees_.value.push_back(random_.uniform() - 0.4);
    push_cut(column);
    if (is_leaf) return static_cast<std::int32_t>(node);
    const double share = random_.below(30) == 0 ? 0.0 : 0.05 + 0.9 * random_.uniform();   // a side without rows
    const std::int32_t left = grow(is_chain ? 0 : depth - 1, is_chain, cover * share),
                       right = grow(depth - 1, is_chain, cover * (1 - share));
    trees_.left[node] = left, trees_.right[node] = right;
    return static_cast<std::int32_t>(node);
  }

  void push_cut(std::int32_t column) {
    const double eighths = (static_cast<double>(random_.below(129)) - 64) / 8;
    trees_.cuts.threshold.push_back(random_.below(2) == 0 ? eighths : 1.1 * eighths);
    std::uint32_t rule = random_.below(2) == 0 ? flag::kMissingLeft : 0U;
    const std::uint32_t kind = random_.below(8);
    std::int32_t set = -1;
    if (column == 1 || kind == 0) rule |= flag::kCategory, set = static_cast<std::int32_t>(random_.below(2));
    else if (kind == 1) rule |= flag::kEqual;
    else if (kind == 2) rule |= flag::kZeroIsMissing;
    else if (kind == 3) rule |= flag::kMissingIsZero;
    trees_.cuts.flags.push_back(static_cast<std::uint8_t>(rule)), trees_.cuts.set.push_back(set);
  }

  bool has_output_;
  engine::ShapTrees trees_;
  engine::PhiloxStream random_{78, 9};
};

// With missing values, and categories in column 1.
Table with_missing(Table x) {
  const double specials[] = {kNan, 0.0, 1e-36, 33, kNan, 1e9};
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (i % 7 == 3) x.values[i] = specials[i / 7 % std::size(specials)];
  for (std::int64_t i = 0; x.cols > 1 && i < x.rows; ++i)
    if (const double v = x.at(i, 1); std::abs(v) < 9) x.at(i, 1) = std::floor(8 * std::abs(v));
  return x;
}

// The last of more than two columns holds categories by other numbers; read: as the trees read it.
template <class T>
engine::CellKeys keyed(const Table& x, Table& read) {
  engine::CellKeys keys;
  if (x.cols < 3) return keys;
  keys.keys = {-3, -0.5, 0, 1.5, 4}, keys.codes = {2, 0, 33, 1, 7};
  keys.offset.assign(static_cast<std::size_t>(x.cols), 0), keys.offset.push_back(5);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const auto found = std::ranges::find(keys.keys, static_cast<double>(static_cast<T>(x.at(i, x.cols - 1))));
    read.at(i, x.cols - 1) = found == keys.keys.end() ? kNan : keys.codes[found - keys.keys.begin()];
  }
  return keys;
}

template <class T>
void expect_host_bits(Probe<T>& probe, engine::TreeShapOps& ops, const engine::ShapTrees& trees) {
  const auto [n, n_cols, k] = probe.shape();
  const Table x = with_missing(probe.numbers(n, n_cols, 1));
  Table read = x;
  const engine::CellKeys keys = keyed<T>(x, read);
  const Padded<T> X(probe.memory(), x);
  const auto ready = ops.prepare_shap(trees);
  ASSERT_EQ(ready->numbers_a_row(), k * (n_cols + 1));
  Padded<double> out(probe.memory(), n, ready->numbers_a_row());
  ready->contributions(X.view(), keys, out.view());
  Table expected(n, ready->numbers_a_row());
  for (double& cell : read.values) cell = static_cast<double>(static_cast<T>(cell));
  expected.values = engine::tree_contributions(trees, {.n_rows = n, .rows = read.values});
  probe.expect_near(out.to_table(), expected, 1, "contributions");
}

// Shape: rows x columns that are asked, k outputs. Single leaves, trees as trainers grow them, and paths longer than 32
// columns, for which a path lies in memory.
template <class T, Leaves kLeaves, bool kStrict>
void check_shap(Probe<T>& probe) {
  engine::TreeShapOps* const ops = engine::tree_shap_ops(probe.trees());
  if (!ops) return;
  ShapGrower grower(kLeaves, kStrict, probe.shape().cols, probe.shape().k);
  for (const int depth : {0, 3, 5, 6, 0, 1}) grower.add(depth, false);
  expect_host_bits(probe, *ops, grower.trees());
  grower.add(36, true);
  expect_host_bits(probe, *ops, grower.trees());
}

// Trees that are a leaf each, a single cut, and no tree.
template <class T>
void check_small_trees(Probe<T>& probe) {
  engine::TreeShapOps* const ops = engine::tree_shap_ops(probe.trees());
  if (!ops) return;
  ShapGrower none(Leaves::kOfOneOutput, false, probe.shape().cols, probe.shape().k);
  expect_host_bits(probe, *ops, none.trees());
  ShapGrower leaf(Leaves::kOfAllOutputs, true, probe.shape().cols, probe.shape().k);
  leaf.add(0, false);
  expect_host_bits(probe, *ops, leaf.trees());
  ShapGrower cut(Leaves::kOfAllOutputs, false, probe.shape().cols, probe.shape().k);
  cut.add(1, true);
  expect_host_bits(probe, *ops, cut.trees());
}

// So many outputs that the sums of trees do not lie in memory together.
template <class T>
void check_pieces(Probe<T>& probe) {
  engine::TreeShapOps* const ops = engine::tree_shap_ops(probe.trees());
  if (!ops) return;
  ShapGrower grower(Leaves::kOfAllOutputs, false, probe.shape().cols, probe.shape().k);
  for (int t = 0; t < 5; ++t) grower.add(1, true);
  expect_host_bits(probe, *ops, grower.trees());
}

}   // namespace

template <class T>
std::vector<Row<T>> shap_rows() {
  const std::vector<Shape> shapes = {{1, 3, 1}, {33, 2, 2}, {9, 45, 1}, {70, 5, 6}};
  return {{"shap_values", kExact, &check_shap<T, Leaves::kOfAllOutputs, false>, shapes},
          {"shap_outputs", kExact, &check_shap<T, Leaves::kOfOneOutput, true>, shapes},
          {"shap_small_trees", kExact, &check_small_trees<T>, {{1, 1, 1}, {40, 3, 3}}},
          {"shap_pieces", kExact, &check_pieces<T>, {{1, 2, 27000}}}};
}

template std::vector<Row<float>> shap_rows();
template std::vector<Row<double>> shap_rows();

}   // namespace kedge::parity
