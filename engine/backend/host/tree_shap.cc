// Contributions by quadrature. Where a column is known with chance t, its factor on a path to a leaf is
// f = z (1 - t) + o t: z is the share of the fitted rows that follow the path at the cuts by the column, o is 1 where
// this row does. The Shapley value of the column is the integral over t in [0, 1] of (o - z) / f times the product of
// all factors, times the leaf's value: a polynomial, for which Gauss's points are exact. Rows are the lanes of vectors.
#include "engine/backend/host/tree_shap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/simd.h"
#include "engine/core/require.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr int kRows = static_cast<int>(kShapLanes);
constexpr int kMostPoints = 32;              // exact for 64 different columns on a path
constexpr int kMostValues = 4;               // of a leaf that are added up in one walk
constexpr std::int32_t kMostLevels = 1024;   // of a tree, by which memory grows

// Eight rows; they lie at any address. GCC makes no vectors of the choices below by itself.
using Lanes [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;
constexpr int kWidth = 8;
inline __attribute__((always_inline)) const Lanes& lanes_at(const double* cells) {
  return *reinterpret_cast<const Lanes*>(cells);
}
inline __attribute__((always_inline)) Lanes& lanes_at(double* cells) {
  return *reinterpret_cast<Lanes*>(cells);
}

constexpr double kPi = 3.14159265358979323846;

// Gauss's points and weights on [0, 1].
struct Quadrature {
  std::vector<double> points, rests, weights;   // t, 1 - t

  explicit Quadrature(int n) {
    for (int i = 0; i < n; ++i) {
      double x = std::cos(kPi * (i + 0.75) / (n + 0.5)), slope = 0;
      for (int step = 0; step < 100; ++step) {   // Newton, from near
        double p = 1, before = 0;
        for (int k = 1; k <= n; ++k) {
          const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
          before = p, p = next;
        }
        slope = n * (x * p - before) / (x * x - 1);
        const double move = p / slope;
        x -= move;
        if (std::abs(move) < 1e-16) break;
      }
      points.push_back((1 - x) / 2), rests.push_back((1 + x) / 2);
      weights.push_back(1 / ((1 - x * x) * slope * slope));
    }
  }
};

// A node in depth-first order, the left child behind its parent.
struct Node {
  std::int32_t from = 0;       // its place among the nodes of its tree
  std::int32_t cut = -1;       // the place of its parent there
  std::int32_t parent = -1;    // place in this order
  std::int32_t feature = -1;   // that the parent is cut by
  std::int32_t depth = 0;
  std::int32_t before_depth = -1;   // of the nearest node above that has the same feature; -1: none
  bool is_left = false, is_leaf = false;
  double share = 1, before_share = 1;   // z, of all cuts by the feature up to here, and without this one
};

struct Tree {
  std::vector<Node> nodes;
  int n_points = 1;
  std::int32_t depth = 0;
  std::vector<double> expected;   // by value of a leaf
};

class TreeBuilder {
 public:
  TreeBuilder(const ShapTrees& trees, std::int64_t t)
      : trees_(trees),
        begin_(trees.tree_offset[static_cast<std::size_t>(t)]),
        n_nodes_(static_cast<std::size_t>(trees.tree_offset[static_cast<std::size_t>(t) + 1] - begin_)),
        expected_(static_cast<std::size_t>(trees.leaf_values())) {}

  Tree build() {
    struct Waiting {
      std::int64_t node;
      std::int32_t parent;
      bool is_left;
    };
    tree_.nodes.reserve(n_nodes_), reach_.reserve(n_nodes_), different_.reserve(n_nodes_);
    std::vector<Waiting> waiting{{begin_, -1, false}};
    while (!waiting.empty()) {
      const Waiting next = waiting.back();
      waiting.pop_back();
      require(tree_.nodes.size() < n_nodes_, schema::ErrorCode::kModelCorrupt,
              "model: a node of a tree has two parents");
      const std::int32_t place = add(next.node, next.parent, next.is_left);
      const auto at = static_cast<std::size_t>(next.node);
      if (trees_.feature[at] < 0) continue;
      waiting.push_back({trees_.right[at], place, false});
      waiting.push_back({trees_.left[at], place, true});
    }
    tree_.n_points = std::clamp((most_different_ + 1) / 2, 1, kMostPoints);
    tree_.expected = std::move(expected_);
    return std::move(tree_);
  }

 private:
  std::int32_t add(std::int64_t from, std::int32_t parent, bool is_left) {
    const auto place = static_cast<std::int32_t>(tree_.nodes.size());
    Node node{.from = static_cast<std::int32_t>(from - begin_), .parent = parent, .is_left = is_left};
    node.is_leaf = trees_.feature[static_cast<std::size_t>(from)] < 0;
    double reach = 1;
    std::int32_t different = 0;
    if (parent >= 0) {
      const auto above = static_cast<std::size_t>(parent);
      node.cut = tree_.nodes[above].from, node.depth = tree_.nodes[above].depth + 1;
      const double own = share_of(from, begin_ + node.cut);
      reach = reach_[above] * own;
      different = different_[above] + (find_before(node) ? 0 : 1);
      node.share = own * node.before_share;
    }
    if (node.depth > kMostLevels)
      throw schema::Error(
          schema::ErrorCode::kInvalidValue,
          fmt::format("contributions are of trees of at most {} levels, this model has more", kMostLevels), "output");
    reach_.push_back(reach), different_.push_back(different);
    most_different_ = std::max(most_different_, different), tree_.depth = std::max(tree_.depth, node.depth);
    const auto k = static_cast<std::size_t>(trees_.leaf_values());
    for (std::size_t v = 0; node.is_leaf && v < k; ++v)
      expected_[v] += reach * trees_.value[static_cast<std::size_t>(from) * k + v];
    tree_.nodes.push_back(node);
    return place;
  }

  double share_of(std::int64_t node, std::int64_t above) const {
    constexpr double kLeast = 1e-15;   // of a node that no weighted row reached
    const double all = trees_.cover[static_cast<std::size_t>(above)];
    return std::max(kLeast, all > 0 ? trees_.cover[static_cast<std::size_t>(node)] / all : 0.5);
  }

  // Sets what the node shares with an earlier cut by the same feature on its path.
  bool find_before(Node& node) const {
    node.feature = trees_.feature[static_cast<std::size_t>(begin_ + node.cut)];
    for (std::int32_t up = node.parent; up >= 0; up = tree_.nodes[static_cast<std::size_t>(up)].parent) {
      const Node& earlier = tree_.nodes[static_cast<std::size_t>(up)];
      if (earlier.feature != node.feature) continue;
      node.before_depth = earlier.depth, node.before_share = earlier.share;
      return true;
    }
    return false;
  }

  const ShapTrees& trees_;
  const std::int64_t begin_;
  const std::size_t n_nodes_;
  Tree tree_;
  std::vector<double> expected_, reach_;
  std::vector<std::int32_t> different_;   // by node: different columns on its path
  std::int32_t most_different_ = 1;
};

// What a cut changes at each point: the product of the factors is multiplied by a ratio, and slope is what
// (o - z) / f grows by. Where an earlier cut by the feature had lost the row, the ratio is one number and the slope 0.
struct Change {
  double follows_ratio[kMostPoints], leaves_ratio[kMostPoints];
  double follows_slope[kMostPoints], leaves_slope[kMostPoints];
  double lost_ratio = 1;
};

inline __attribute__((always_inline)) void set_change(const Node& node, const Quadrature& rule, int n_points,
                                                      Change& change) {
  const double z = node.share, y = node.before_share;
  const double *const t = rule.points.data(), *const rest = rule.rests.data();
  change.lost_ratio = z / y;
  if (node.before_depth < 0) {
    for (int q = 0; q < n_points; ++q) {
      const double out = z * rest[q], in = out + t[q];
      change.follows_ratio[q] = in, change.leaves_ratio[q] = out;
      change.follows_slope[q] = (1 - z) / in, change.leaves_slope[q] = -1 / rest[q];
    }
    return;
  }
  for (int q = 0; q < n_points; ++q) {
    const double out = z * rest[q], in = out + t[q], before = y * rest[q] + t[q], earlier = (1 - y) / before;
    change.follows_ratio[q] = in / before, change.leaves_ratio[q] = out / before;
    change.follows_slope[q] = (1 - z) / in - earlier, change.leaves_slope[q] = -1 / rest[q] - earlier;
  }
}

// What is kept of the path to the node at work, by depth.
class Path {
 public:
  Path(std::int32_t depth, int n_points, std::int32_t n_values, const Quadrature& rule)
      : n_points_(n_points),
        level_(static_cast<std::size_t>(n_points) * kRows),
        product_(static_cast<std::size_t>(depth + 1) * level_),
        sum_(static_cast<std::size_t>((depth + 1) * n_values) * level_),
        follows_(static_cast<std::size_t>((depth + 1) * kRows), 1.0),
        changes_(static_cast<std::size_t>(depth + 1)),
        n_values_(static_cast<std::size_t>(n_values)) {
    for (int q = 0; q < n_points; ++q)
      std::fill_n(product_.begin() + q * kRows, kRows, rule.weights[static_cast<std::size_t>(q)]);
  }
  int n_points() const { return n_points_; }
  // n_points x kRows, at depth 0 the weights of the points.
  double* product(std::int32_t depth) { return product_.data() + static_cast<std::size_t>(depth) * level_; }
  // The same, of value v of the leaves below, times their products.
  double* sum(std::int32_t depth, std::int32_t v) {
    return sum_.data() + (static_cast<std::size_t>(depth) * n_values_ + static_cast<std::size_t>(v)) * level_;
  }
  // kRows: 1 where the row follows the path at all cuts by the feature of the last one, otherwise 0.
  double* follows(std::int32_t depth) { return follows_.data() + static_cast<std::size_t>(depth) * kRows; }
  Change& change(std::int32_t depth) { return changes_[static_cast<std::size_t>(depth)]; }

 private:
  int n_points_;
  std::size_t level_;
  std::vector<double> product_, sum_, follows_;
  std::vector<Change> changes_;
  std::size_t n_values_;
};

// Sets follows and the product of a node.
inline __attribute__((always_inline)) void enter(const Node& node, const Quadrature& rule,
                                                 const std::uint8_t* goes_left, Path& path) {
  const std::uint8_t* const left = goes_left + static_cast<std::int64_t>(node.cut) * kRows;
  const std::uint8_t wanted = node.is_left ? 1 : 0;
  const bool repeats = node.before_depth >= 0;
  const double* const before = path.follows(std::max(node.before_depth, 0));   // at the root all rows do
  double* __restrict const follows = path.follows(node.depth);
  for (int l = 0; l < kRows; ++l) follows[l] = before[l] * static_cast<double>(left[l] == wanted);
  Change& change = path.change(node.depth);
  set_change(node, rule, path.n_points(), change);
  const double* const above = path.product(node.depth - 1);
  double* __restrict const product = path.product(node.depth);
  for (int q = 0; q < path.n_points(); ++q) {
    const double in = change.follows_ratio[q], out = change.leaves_ratio[q], lost = repeats ? change.lost_ratio : out;
    for (int l = 0; l < kRows; l += kWidth) {
      const Lanes none{}, left_out = lanes_at(before + l) != none ? none + out : none + lost;
      const Lanes ratio = lanes_at(follows + l) != none ? none + in : left_out;
      lanes_at(product + q * kRows + l) = lanes_at(above + q * kRows + l) * ratio;
    }
  }
}

// All leaves below the node are summed up: adds to out (kRows) and to the sums of its parent, which begin with its
// left child.
inline __attribute__((always_inline)) void leave(const Node& node, std::int32_t v, Path& path, double* out) {
  const double* const sum = path.sum(node.depth, v);
  const double* const before = path.follows(std::max(node.before_depth, 0));
  const double* const follows = path.follows(node.depth);
  double* __restrict const above = path.sum(node.depth - 1, v);
  const Change& change = path.change(node.depth);
  double slopes[kRows] = {};
  for (int q = 0; q < path.n_points(); ++q) {
    const double in = change.follows_slope[q], left_out = change.leaves_slope[q];
    for (int l = 0; l < kRows; l += kWidth) {
      const Lanes none{}, s = lanes_at(sum + q * kRows + l);
      const Lanes slope = lanes_at(follows + l) != none ? none + in : none + left_out;
      lanes_at(slopes + l) += s * (lanes_at(before + l) != none ? slope : none);
      lanes_at(above + q * kRows + l) = node.is_left ? s : lanes_at(above + q * kRows + l) + s;
    }
  }
  for (int l = 0; l < kRows; ++l) out[l] += slopes[l];
}

// One tree for a block of rows: adds to out[(value * width + feature) * kRows + row] for n_values values of each leaf,
// which has `stride` of them.
KEDGE_CLONES void walk(const Tree& tree, const Quadrature& rule, const std::uint8_t* goes_left, const double* values,
                       std::int64_t stride, std::int32_t n_values, std::int64_t width, Path& path, double* out) {
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    if (i % 4096 == 0) check_job_stop();
    const Node* node = &tree.nodes[i];
    enter(*node, rule, goes_left, path);
    if (!node->is_leaf) continue;
    const double* const product = path.product(node->depth);
    for (std::int32_t v = 0; v < n_values; ++v) {
      const double value = values[node->from * stride + v];
      double* __restrict const sum = path.sum(node->depth, v);
      for (int k = 0; k < path.n_points() * kRows; ++k) sum[k] = value * product[k];
    }
    for (;;) {   // the nodes above that have all their leaves
      for (std::int32_t v = 0; v < n_values; ++v) leave(*node, v, path, out + (v * width + node->feature) * kRows);
      if (node->is_left || node->depth == 1) break;
      node = &tree.nodes[static_cast<std::size_t>(node->parent)];
    }
  }
}

class Contributing {
 public:
  Contributing(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions)
      : trees_(trees), directions_(directions), n_rows_(n_rows), width_(trees.n_cols + 1) {
    built_.resize(static_cast<std::size_t>(trees.n_trees()));
    constexpr std::int64_t kNodeNs = 100;
    for_tasks(trees.n_trees(), static_cast<std::int64_t>(trees.feature.size()) * kNodeNs,
              [&](std::int64_t t) { built_[static_cast<std::size_t>(t)] = TreeBuilder(trees, t).build(); });
    for (const Tree& tree : built_)
      if (auto& rule = rules_[static_cast<std::size_t>(tree.n_points)]; !rule) rule.emplace(tree.n_points);
  }

  // Of the rows of a block, into all rows'.
  void run(std::int64_t block, double* all) const {
    const std::int64_t row_size = width_ * trees_.n_outputs;
    std::vector<double> sums(static_cast<std::size_t>(row_size * kRows));
    std::vector<std::uint8_t> left;
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      check_job_stop();
      add_tree(block, t, left, sums.data());
    }
    const std::int64_t first = block * kRows, count = std::min<std::int64_t>(kRows, n_rows_ - first);
    for (std::int64_t l = 0; l < count; ++l)
      for (std::int64_t c = 0; c < row_size; ++c)
        all[(first + l) * row_size + c] = sums[static_cast<std::size_t>(c * kRows + l)] * trees_.scale;
    for (std::int64_t o = 0; o < trees_.n_outputs && !trees_.base.empty(); ++o)
      for (std::int64_t i = first; i < first + count; ++i)
        all[i * row_size + o * width_ + trees_.n_cols] += trees_.base[static_cast<std::size_t>(o)];
  }

 private:
  void add_tree(std::int64_t block, std::int64_t t, std::vector<std::uint8_t>& left, double* sums) const {
    const auto at = static_cast<std::size_t>(t);
    const Tree& tree = built_[at];
    const std::int64_t begin = trees_.tree_offset[at], end = trees_.tree_offset[at + 1], k = trees_.leaf_values();
    double* const out = sums + (trees_.tree_output.empty() ? 0 : trees_.tree_output[at]) * width_ * kRows;
    for (std::int64_t v = 0; v < k; ++v)
      for (int l = 0; l < kRows; ++l)
        out[(v * width_ + trees_.n_cols) * kRows + l] += tree.expected[static_cast<std::size_t>(v)];
    if (tree.depth == 0) return;
    left.resize(static_cast<std::size_t>((end - begin) * kRows));
    directions_(block, begin, end, left.data());
    const Quadrature& rule = *rules_[static_cast<std::size_t>(tree.n_points)];
    const auto most = static_cast<std::int32_t>(std::min<std::int64_t>(k, kMostValues));
    Path path(tree.depth, tree.n_points, most, rule);
    for (std::int64_t v = 0; v < k; v += most) {
      const auto n_values = static_cast<std::int32_t>(std::min<std::int64_t>(most, k - v));
      walk(tree, rule, left.data(), trees_.value.data() + begin * k + v, k, n_values, width_, path,
           out + v * width_ * kRows);
    }
  }

  const ShapTrees& trees_;
  const ShapDirections& directions_;
  const std::int64_t n_rows_, width_;
  std::array<std::optional<Quadrature>, kMostPoints + 1> rules_;   // by points
  std::vector<Tree> built_;
};

}   // namespace

ShapCells::ShapCells(const std::vector<double>& rows, std::int64_t n_rows, std::int64_t n_cols)
    : n_rows_(n_rows), n_cols_(n_cols) {
  const std::int64_t blocks = (n_rows + kShapLanes - 1) / kShapLanes;
  cells_.resize(static_cast<std::size_t>(blocks * n_cols * kShapLanes));
  for (std::int64_t i = 0; i < n_rows; ++i) {
    double* const block = cells_.data() + i / kShapLanes * n_cols * kShapLanes + i % kShapLanes;
    for (std::int64_t j = 0; j < n_cols; ++j) block[j * kShapLanes] = rows[static_cast<std::size_t>(i * n_cols + j)];
  }
}

std::vector<double> tree_contributions(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions) {
  std::vector<double> all(static_cast<std::size_t>(n_rows * trees.n_outputs * (trees.n_cols + 1)));
  const Contributing work(trees, n_rows, directions);
  constexpr std::int64_t kNodeNs = 10;
  for_tasks((n_rows + kShapLanes - 1) / kShapLanes, n_rows * static_cast<std::int64_t>(trees.feature.size()) * kNodeNs,
            [&](std::int64_t block) { work.run(block, all.data()); });
  return all;
}

std::vector<double> tree_contributions(const ShapTrees& trees, const AskedCells& asked,
                                       const DirectionsOf& directions_of) {
  const ShapCells cells(asked.rows, asked.n_rows, trees.n_cols);
  if (asked.n_background == 0) return tree_contributions(trees, asked.n_rows, directions_of(cells));
  const ShapCells background(asked.background, asked.n_background, trees.n_cols);
  return tree_contributions(trees, asked.n_rows, directions_of(cells),
                            {.n_rows = asked.n_background, .directions = directions_of(background)});
}

}   // namespace kedge::engine
