// Sums of leaves by a walk that asks each node all that it may be asked, one row and tree after the other: a device
// that walks such trees itself gives its bits. Devices that leave them to the host's own walks have nothing to check
// here.
#include "tests/parity/walk_rows.h"

#include <limits>

#include "engine/backend/ops/tree_walk.h"
#include "engine/core/category_set.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
namespace flag = engine::walk_flag;

// What the reference walk and the device read.
struct Trees {
  bool is_float32 = false, is_strict = false;
  std::int64_t n_cols = 0;
  std::int32_t n_outputs = 1;
  std::vector<std::int64_t> tree_offset{0}, set_offset{0};
  std::vector<std::int32_t> tree_output, feature, left, set;
  std::vector<double> threshold, base;
  std::vector<std::uint8_t> flags;
  std::vector<std::uint32_t> set_words;
  double divisor = 3;

  engine::WalkTrees view() const {
    return {.is_float32 = is_float32,
            .is_strict = is_strict,
            .n_cols = n_cols,
            .n_outputs = n_outputs,
            .tree_offset = tree_offset,
            .tree_output = tree_output,
            .feature = feature,
            .threshold = threshold,
            .left = left,
            .flags = flags,
            .set = set,
            .set_offset = set_offset,
            .set_words = set_words,
            .base = base,
            .divisor = divisor};
  }
};

class Grower {
 public:
  // are_cuts: no node asks for a category, one value, or passes over zeros, and a tree has as few levels as it can.
  Grower(bool is_float32, bool is_strict, std::int64_t n_cols, std::int32_t n_outputs, bool are_cuts)
      : are_cuts_(are_cuts) {
    trees_.is_float32 = is_float32, trees_.is_strict = is_strict;
    trees_.n_cols = n_cols, trees_.n_outputs = n_outputs;
    for (std::int32_t c = 0; c < n_outputs; ++c) trees_.base.push_back(0.3 - 0.7 * c);
    for (const std::uint32_t word : {0x5a5a1234U, 0x00ff00ffU, 0xdeadbeefU}) trees_.set_words.push_back(word);
    trees_.set_offset = {0, 1, 3};
  }
  const Trees& trees() const { return trees_; }

  // Leaves of a tree become cuts until it has n nodes.
  void add(std::int64_t n, std::int32_t output) {
    const std::int64_t begin = trees_.tree_offset.back();
    push_leaf();
    for (std::int64_t node = begin; size() - begin < n; ++node) {
      if (!are_cuts_ && node + 1 < size() && random_.below(4) == 0) continue;   // stays a leaf
      cut(node, static_cast<std::int32_t>(size() - begin));
      push_leaf(), push_leaf();
    }
    trees_.tree_offset.push_back(size());
    trees_.tree_output.push_back(output);
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(trees_.feature.size()); }
  void push_leaf() {
    trees_.feature.push_back(-1), trees_.left.push_back(0), trees_.set.push_back(-1), trees_.flags.push_back(0);
    trees_.threshold.push_back(rounded(random_.uniform() - 0.4));
  }
  double rounded(double value) const {
    return trees_.is_float32 ? static_cast<double>(static_cast<float>(value)) : value;
  }
  // Kinds that no trainer mixes lie side by side.
  void cut(std::int64_t node, std::int32_t left) {
    const auto column = static_cast<std::int32_t>(random_.below(static_cast<std::uint32_t>(trees_.n_cols)));
    const double eighths = (static_cast<double>(random_.below(129)) - 64) / 8;
    trees_.feature[node] = column, trees_.left[node] = left;
    trees_.threshold[node] = rounded(random_.below(2) == 0 ? eighths : 1.1 * eighths);
    if (random_.below(40) == 0) trees_.threshold[node] = random_.below(2) == 0 ? kInfinity : -kInfinity;
    if (random_.below(40) == 0) trees_.threshold[node] = 0.0;
    std::uint32_t rule = random_.below(2) == 0 ? flag::kMissingLeft : 0U;
    const std::uint32_t kind = are_cuts_ ? 3 + random_.below(5) : random_.below(8);
    if (!are_cuts_ && (column == 1 || kind == 0))
      rule |= flag::kCategory, trees_.set[node] = static_cast<std::int32_t>(random_.below(2));
    else if (kind == 1) rule |= flag::kEqual;
    else if (kind == 2) rule |= flag::kZeroIsMissing;
    else if (kind == 3) rule |= flag::kMissingIsZero;
    trees_.flags[node] = static_cast<std::uint8_t>(rule);
  }

  Trees trees_;
  bool are_cuts_;
  engine::PhiloxStream random_{77, 7};
};

bool goes_left(const Trees& trees, std::int64_t node, double value) {
  const std::uint8_t flags = trees.flags[node];
  const bool is_missing_left = (flags & flag::kMissingLeft) != 0;
  const double cut = trees.threshold[node];
  if (std::isnan(value) && (!(flags & flag::kMissingIsZero) || (flags & (flag::kCategory | flag::kEqual))))
    return is_missing_left;
  if (flags & flag::kCategory) {
    const std::int64_t begin = trees.set_offset[trees.set[node]], end = trees.set_offset[trees.set[node] + 1];
    return engine::is_in_category_set(trees.set_words.data() + begin, end - begin, trees.is_float32, value);
  }
  if (flags & flag::kEqual) return value == cut;
  if ((flags & flag::kZeroIsMissing) && std::abs(value) <= engine::kWalkZeroRange) return is_missing_left;
  if (std::isnan(value)) value = 0;
  return trees.is_strict ? value < cut : value <= cut;
}

template <class Sum>
std::vector<double> walked(const Trees& trees, const double* x) {
  std::vector<Sum> sums(trees.base.begin(), trees.base.end());
  for (std::size_t t = 0; t < trees.tree_output.size(); ++t) {
    const std::int64_t begin = trees.tree_offset[t];
    std::int64_t node = begin;
    while (trees.feature[node] >= 0)
      node = begin + trees.left[node] + (goes_left(trees, node, x[trees.feature[node]]) ? 0 : 1);
    sums[trees.tree_output[t]] += static_cast<Sum>(trees.threshold[node]);
  }
  for (Sum& sum : sums) sum /= static_cast<Sum>(trees.divisor);
  return {sums.begin(), sums.end()};
}

// With missing values, values near 0, infinite ones, and what is no category.
Table special_numbers(Table x) {
  const double specials[] = {kNan, 0.0, 1e-36, -1e-36, kInfinity, -kInfinity, -0.5, 33, 95, 1e9};
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (i % 7 == 3) x.values[i] = specials[i / 7 % std::size(specials)];
  for (std::int64_t i = 0; x.cols > 1 && i < x.rows; ++i)
    if (const double v = x.at(i, 1); std::abs(v) < 9) x.at(i, 1) = std::floor(8 * std::abs(v));
  return x;
}

// Shape: rows x columns that are asked, k outputs. kShallow: trees of up to 31 nodes, all cuts.
template <class T, bool kAreFloats, bool kStrict, bool kShallow = false>
void check_walk(Probe<T>& probe) {
  engine::TreeWalkOps* const ops = engine::tree_walk_ops(probe.trees());
  if (!ops) return;
  const auto [n, n_cols, k] = probe.shape();
  Grower grower(kAreFloats, kStrict, n_cols, k, kShallow);
  const std::int64_t sizes[] = {1, 3, 31, 301, n > 10'000 ? 30'001 : 61, 15, 7}, shallow[] = {1, 3, 31, 31, 23, 31, 15};
  const std::int32_t n_trees = kShallow ? 77 : 21;   // more than a block holds beside 60 columns
  for (std::int32_t t = 0; t < n_trees; ++t)         // the output before the last has none, and its trees go elsewhere
    grower.add(kShallow ? shallow[t % 7] : sizes[t % 7], k > 2 && t % k == k - 2 ? 0 : t % k);
  const Trees& trees = grower.trees();
  Table x = special_numbers(probe.numbers(n, n_cols, 1));
  engine::CellKeys keys;
  Table read = x;
  if (n_cols > 2) {   // the last column: categories by numbers
    keys.keys = {-3, -0.5, 0, 1.5, 4}, keys.codes = {2, 0, 33, 1, 7};
    keys.offset.assign(static_cast<std::size_t>(n_cols), 0), keys.offset.push_back(5);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto found = std::ranges::find(keys.keys, static_cast<double>(static_cast<T>(x.at(i, n_cols - 1))));
      read.at(i, n_cols - 1) = found == keys.keys.end() ? kNan : keys.codes[found - keys.keys.begin()];
    }
  }
  const Padded<T> X(probe.memory(), x);
  Padded<double> out(probe.memory(), k, n);
  const auto ready =
      ops->prepare_walk(trees.view(), sizeof(T) == 4 ? engine::WalkCells::kFloat32 : engine::WalkCells::kFloat64);
  ready->sums(X.view(), keys, out.view());
  Table expected(k, n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> row(static_cast<std::size_t>(n_cols));
    for (std::int64_t j = 0; j < n_cols; ++j) row[j] = static_cast<double>(static_cast<T>(read.at(i, j)));
    const std::vector<double> sums = kAreFloats ? walked<float>(trees, row.data()) : walked<double>(trees, row.data());
    for (std::int32_t c = 0; c < k; ++c) expected.at(c, i) = sums[c];
  }
  probe.expect_near(out.to_table(), expected, 1, "sums");
}

template <class T>
void check_shallow(Probe<T>& probe) {
  if constexpr (sizeof(T) == 4) check_walk<T, true, true, true>(probe);
  check_walk<T, false, false, true>(probe);
}

// Thousands of columns leave no room for a child in a small node.
template <class T>
void check_wide_nodes(Probe<T>& probe) {
  check_walk<T, true, true>(probe);
  check_walk<T, false, false>(probe);
}

}   // namespace

template <class T>
std::vector<Row<T>> walk_rows() {
  const std::vector<Shape> shapes = {{1, 3, 1}, {9, 1, 2}, {600, 3, 4}, {600, 230, 2}, {17000, 4, 3}};
  std::vector<Row<T>> rows = {{"walk_up_to", kExact, &check_walk<T, false, false>, shapes},
                              {"walk_below", kExact, &check_walk<T, false, true>, shapes},
                              {"walk_shallow", kExact, &check_shallow<T>, {{1, 3, 1}, {17000, 4, 1}, {17000, 60, 3}}}};
  if constexpr (sizeof(T) == 4) {
    rows.push_back({"walk_floats_up_to", kExact, &check_walk<T, true, false>, shapes});
    rows.push_back({"walk_floats_below", kExact, &check_walk<T, true, true>, shapes});
    rows.push_back({"walk_wide_nodes", kExact, &check_wide_nodes<T>, {{3, 1 << 20, 1}}});
  }
  return rows;
}

template std::vector<Row<float>> walk_rows();
template std::vector<Row<double>> walk_rows();

}   // namespace kedge::parity
