// Contributions by quadrature. Where a column is known with chance t, its factor on a path to a leaf is
// f = z (1 - t) + o t: z is the share of the fitted rows that follow the path at the cuts by the column, o is 1 where
// this row does. The Shapley value of the column is the integral over t in [0, 1] of (o - z) / f times the product of
// all factors, times the leaf's value: a polynomial, for which Gauss's points are exact. Rows are the lanes of vectors.
#include "engine/backend/host/tree_shap.h"

#include <algorithm>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/host/tree_shap_path.h"
#include "engine/backend/simd.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

using namespace shap;

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
      : trees_(trees), directions_(directions), n_rows_(n_rows), width_(trees.n_cols + 1), built_(trees) {}

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
    const Tree& tree = built_.tree(t);
    const std::int64_t begin = trees_.tree_offset[at], end = trees_.tree_offset[at + 1], k = trees_.leaf_values();
    double* const out = sums + (trees_.tree_output.empty() ? 0 : trees_.tree_output[at]) * width_ * kRows;
    for (std::int64_t v = 0; v < k; ++v)
      for (int l = 0; l < kRows; ++l)
        out[(v * width_ + trees_.n_cols) * kRows + l] += tree.expected[static_cast<std::size_t>(v)];
    if (tree.depth == 0) return;
    left.resize(static_cast<std::size_t>((end - begin) * kRows));
    directions_(block, begin, end, left.data());
    const Quadrature& rule = built_.rule(tree);
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
  const BuiltTrees built_;
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
  if (asked.among_pairs) return tree_interactions(trees, asked.n_rows, directions_of(cells));
  if (asked.n_background == 0) return tree_contributions(trees, asked.n_rows, directions_of(cells));
  const ShapCells background(asked.background, asked.n_background, trees.n_cols);
  return tree_contributions(trees, asked.n_rows, directions_of(cells),
                            {.n_rows = asked.n_background, .directions = directions_of(background)});
}

}   // namespace kedge::engine
