// Contributions by quadrature. Where a column is known with chance t, its factor on a path to a leaf is
// f = z (1 - t) + o t: z is the share of the fitted rows that follow the path at the cuts by the column, o is 1 where
// this row does. The Shapley value of the column is the integral over t in [0, 1] of (o - z) / f times the product of
// all factors, times the leaf's value: a polynomial, for which Gauss's points are exact. Rows are the lanes of vectors.
#include "engine/backend/host/tree_shap.h"

#include <algorithm>

#include "engine/backend/cut_rule.h"
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

// One tree for a block of rows: adds to out[(value * slots + slot of the feature) * kRows + row].
KEDGE_CLONES void walk(const TreePart& part, double* out) {
  const Tree& tree = part.tree;
  Path& path = part.path;
  const auto n_slots = static_cast<std::int64_t>(tree.columns.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    if (i % 4096 == 0) check_job_stop();
    const Node* node = &tree.nodes[i];
    enter(*node, part.rule, part.goes_left, path);
    if (!node->is_leaf) continue;
    set_leaf(part, *node);
    for (;;) {   // the nodes above that have all their leaves
      for (std::int32_t v = 0; v < part.n_values; ++v) leave(*node, v, path, out + (v * n_slots + node->slot) * kRows);
      if (node->is_left || node->depth == 1) break;
      node = &tree.nodes[static_cast<std::size_t>(node->parent)];
    }
  }
}

class Contributing {
 public:
  Contributing(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions)
      : trees_(trees), n_rows_(n_rows), width_(trees.n_cols + 1), walks_(trees, directions) {}

  // Of the rows of a block, into all rows'. What a tree says of a column is summed up before it is added to the other
  // trees', in their order, so that trees may also be walked side by side.
  void run(std::int64_t block, double* all) const {
    const std::int64_t row_size = width_ * trees_.n_outputs;
    std::vector<double> sums(static_cast<std::size_t>(row_size * kRows)), own;
    walks_.run(block, width_, sums.data(), [&](const TreePart& part) {
      const std::vector<std::int32_t>& columns = part.tree.columns;
      own.assign(static_cast<std::size_t>(part.n_values) * columns.size() * kRows, 0.0);
      walk(part, own.data());
      const double* from = own.data();
      for (std::int64_t v = part.first; v < part.first + part.n_values; ++v)
        for (const std::int32_t column : columns) {
          double* const sum = sums.data() + (v * width_ + column) * kRows;
          for (int l = 0; l < kRows; ++l) sum[l] += *from++;
        }
    });
    const std::int64_t first = block * kRows, count = std::min<std::int64_t>(kRows, n_rows_ - first);
    for (std::int64_t l = 0; l < count; ++l)
      for (std::int64_t c = 0; c < row_size; ++c)
        all[(first + l) * row_size + c] = sums[static_cast<std::size_t>(c * kRows + l)] * trees_.scale;
    for (std::int64_t o = 0; o < trees_.n_outputs && !trees_.base.empty(); ++o)
      for (std::int64_t i = first; i < first + count; ++i)
        all[i * row_size + o * width_ + trees_.n_cols] += trees_.base[static_cast<std::size_t>(o)];
  }

 private:
  const ShapTrees& trees_;
  const std::int64_t n_rows_, width_;
  const BlockWalks walks_;
};

// Of the rows of a block at one cut, whose cells in its column are x.
void set_directions(const ShapCuts& cuts, std::size_t node, const double* x, std::uint8_t* left) {
  const std::uint8_t flags = cuts.flags.empty() ? std::uint8_t{0} : cuts.flags[node];
  const double cut = cuts.threshold[node];
  if (flags & ~walk_flag::kMissingLeft) {
    const CutSets sets{cuts.set_offset.data(), cuts.set_words.data(), cuts.is_float32};
    const std::int32_t set = cuts.set.empty() ? -1 : cuts.set[node];
    for (std::int64_t l = 0; l < kShapLanes; ++l)
      left[l] = cut_goes_left(flags, cuts.is_strict, cut, set, sets, x[l]) ? 1 : 0;
    return;
  }
  if (cuts.is_strict)
    for (std::int64_t l = 0; l < kShapLanes; ++l) left[l] = (x[l] < cut ? 1 : 0) | (x[l] != x[l] ? flags : 0);
  else
    for (std::int64_t l = 0; l < kShapLanes; ++l) left[l] = (x[l] <= cut ? 1 : 0) | (x[l] != x[l] ? flags : 0);
}

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

ShapDirections shap_directions(const ShapTrees& trees, const ShapCells& cells) {
  return [&](std::int64_t block, std::int64_t begin, std::int64_t end, std::uint8_t* goes_left) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto node = static_cast<std::size_t>(i);
      if (trees.feature[node] >= 0)
        set_directions(trees.cuts, node, cells.column(block, trees.feature[node]),
                       goes_left + (i - begin) * kShapLanes);
    }
  };
}

std::vector<double> tree_contributions(const ShapTrees& trees, const AskedCells& asked) {
  const ShapCells cells(asked.rows, asked.n_rows, trees.n_cols);
  const ShapDirections directions = shap_directions(trees, cells);
  if (asked.among_pairs) return tree_interactions(trees, asked.n_rows, directions);
  if (asked.n_background == 0) return tree_contributions(trees, asked.n_rows, directions);
  const ShapCells background(asked.background, asked.n_background, trees.n_cols);
  return tree_contributions(trees, asked.n_rows, directions,
                            {.n_rows = asked.n_background, .directions = shap_directions(trees, background)});
}

}   // namespace kedge::engine
