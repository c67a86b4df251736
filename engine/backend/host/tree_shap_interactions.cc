// Interactions by quadrature (tree_shap.cc). Of two columns on a path, the interaction index is the integral of
// (o - z) / f of the one, that of the other and the product of all factors, times the leaf's value. What (o - z) / f
// grows by at a cut is the same for all leaves below. So when a node is left, the sum of its leaves, times its own
// growth, meets the growth of each node above: no leaf is looked at twice.
#include <fmt/format.h>

#include <algorithm>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/host/tree_shap.h"
#include "engine/backend/host/tree_shap_path.h"
#include "engine/backend/simd.h"
#include "engine/core/stop.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using namespace shap;

// Sums of pairs of columns for a block of rows. Pairs that a tree has get their place when they are first met, for few
// of all pairs are on one path; they are added to the answer tree by tree.
class PairSums {
 public:
  // Of n_rows rows, whose answers are row_size numbers each.
  PairSums(std::int64_t n_cols, std::int64_t n_rows, std::int64_t row_size)
      : n_cols_(n_cols),
        n_rows_(n_rows),
        row_size_(row_size),
        place_(static_cast<std::size_t>(n_cols * (n_cols - 1) / 2), -1) {}

  // What follows is added to n_values matrices of each row, `apart` numbers from one to the next; out: the first one's.
  void begin(double* out, std::int32_t n_values, std::int64_t apart) {
    out_ = out, n_values_ = n_values, apart_ = apart;
  }

  // n_values x kRows, until the next call.
  double* at(std::int32_t one, std::int32_t other) {
    const std::int64_t low = std::min(one, other), high = std::max(one, other);
    std::int32_t& place = place_[static_cast<std::size_t>(high * (high - 1) / 2 + low)];
    if (place < 0) {
      if (pairs_.size() == kMostPairs) finish();
      place = static_cast<std::int32_t>(pairs_.size());
      pairs_.push_back({low, high});
      sums_.resize(pairs_.size() * static_cast<std::size_t>(n_values_ * kRows), 0.0);
    }
    return sums_.data() + static_cast<std::int64_t>(place) * n_values_ * kRows;
  }

  // Adds them to the halves above the diagonals.
  void finish() {
    const double* sum = sums_.data();
    for (const Pair& pair : pairs_) {
      place_[static_cast<std::size_t>(pair.high * (pair.high - 1) / 2 + pair.low)] = -1;
      for (std::int32_t v = 0; v < n_values_; ++v, sum += kRows)
        for (std::int64_t l = 0; l < n_rows_; ++l)
          out_[l * row_size_ + v * apart_ + pair.low * n_cols_ + pair.high] += sum[l];
    }
    pairs_.clear(), sums_.clear();
  }

 private:
  static constexpr std::size_t kMostPairs = 1 << 14;   // at once, 4 MiB for each value
  struct Pair {
    std::int64_t low, high;   // columns
  };

  const std::int64_t n_cols_, n_rows_, row_size_;
  std::vector<std::int32_t> place_;   // by pair; -1: none
  std::vector<Pair> pairs_;           // by place
  std::vector<double> sums_;
  double* out_ = nullptr;
  std::int32_t n_values_ = 1;
  std::int64_t apart_ = 0;
};

// What (o - z) / f grows by at each node of the path, by depth: n_points x kRows.
class Growth {
 public:
  Growth(std::int32_t depth, int n_points)
      : level_(static_cast<std::size_t>(n_points * kRows)), of_(static_cast<std::size_t>(depth + 2) * level_) {}
  double* at(std::int32_t depth) { return of_.data() + static_cast<std::size_t>(depth) * level_; }
  double* scratch() { return at(0); }   // the root has none

 private:
  std::size_t level_;
  std::vector<double> of_;
};

// Of a node that enter() has seen.
inline __attribute__((always_inline)) void set_growth(const Node& node, Path& path, double* __restrict growth) {
  const double* const before = path.follows(std::max(node.before_depth, 0));
  const double* const follows = path.follows(node.depth);
  const Change& change = path.change(node.depth);
  for (int q = 0; q < path.n_points(); ++q) {
    const double in = change.follows_slope[q], left_out = change.leaves_slope[q];
    for (int l = 0; l < kRows; l += kWidth) {
      const Lanes none{}, grown = lanes_at(follows + l) != none ? none + in : none + left_out;
      lanes_at(growth + q * kRows + l) = lanes_at(before + l) != none ? grown : none;
    }
  }
}

// All leaves below the node are summed up: adds to out (kRows), to the sums of its parent, and to its pairs with all
// nodes above.
inline __attribute__((always_inline)) void leave(const Tree& tree, const Node& node, std::int32_t v, Path& path,
                                                 Growth& growth, PairSums& pairs, double* out) {
  const double* const sum = path.sum(node.depth, v);
  const double* const own = growth.at(node.depth);
  double* __restrict const above = path.sum(node.depth - 1, v);
  double* __restrict const grown = growth.scratch();
  double totals[kRows] = {};
  for (int q = 0; q < path.n_points(); ++q) {
    for (int l = 0; l < kRows; l += kWidth) {
      const int at = q * kRows + l;
      const Lanes s = lanes_at(sum + at), g = s * lanes_at(own + at);
      lanes_at(grown + at) = g, lanes_at(totals + l) += g;
      lanes_at(above + at) = node.is_left ? s : lanes_at(above + at) + s;
    }
  }
  for (int l = 0; l < kRows; ++l) out[l] += totals[l];
  for (const Node* up = &tree.nodes[static_cast<std::size_t>(node.parent)]; up->depth > 0;
       up = &tree.nodes[static_cast<std::size_t>(up->parent)]) {
    if (up->feature == node.feature) continue;
    const double* const other = growth.at(up->depth);
    double* const pair = pairs.at(up->feature, node.feature) + v * kRows;
    for (int l = 0; l < kRows; l += kWidth) {
      Lanes together{};
      for (int q = 0; q < path.n_points(); ++q)
        together += lanes_at(grown + q * kRows + l) * lanes_at(other + q * kRows + l);
      lanes_at(pair + l) += together;
    }
  }
}

// One tree for a block of rows: adds contributions to out[(value * width + feature) * kRows + row], and pairs to
// `pairs`.
KEDGE_CLONES void walk(const TreePart& part, std::int64_t width, Growth& growth, PairSums& pairs, double* out) {
  const Tree& tree = part.tree;
  Path& path = part.path;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    if (i % 1024 == 0) check_job_stop();
    const Node* node = &tree.nodes[i];
    enter(*node, part.rule, part.goes_left, path);
    set_growth(*node, path, growth.at(node->depth));
    if (!node->is_leaf) continue;
    set_leaf(part, *node);
    for (;;) {   // the nodes above that have all their leaves
      for (std::int32_t v = 0; v < part.n_values; ++v)
        leave(tree, *node, v, path, growth, pairs, out + (v * width + node->feature) * kRows);
      if (node->is_left || node->depth == 1) break;
      node = &tree.nodes[static_cast<std::size_t>(node->parent)];
    }
  }
}

class Interacting {
 public:
  Interacting(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions)
      : trees_(trees),
        n_rows_(n_rows),
        width_(trees.n_cols + 1),
        matrix_(trees.n_cols * trees.n_cols + 1),
        walks_(trees, directions) {}

  // Of the rows of a block, into all rows'.
  void run(std::int64_t block, double* all) const {
    const std::int64_t first = block * kRows, count = std::min<std::int64_t>(kRows, n_rows_ - first);
    std::vector<double> columns(static_cast<std::size_t>(width_ * trees_.n_outputs * kRows));
    PairSums pairs(trees_.n_cols, count, row_size());
    walks_.run(block, width_, columns.data(), [&](const TreePart& part) {
      Growth growth(part.tree.depth, part.tree.n_points);
      pairs.begin(all + first * row_size() + part.first * matrix_, part.n_values, matrix_);
      walk(part, width_, growth, pairs, columns.data() + part.first * width_ * kRows);
      pairs.finish();
    });
    for (std::int64_t l = 0; l < count; ++l)
      for (std::int64_t o = 0; o < trees_.n_outputs; ++o)
        complete(columns.data() + o * width_ * kRows + l, o, all + (first + l) * row_size() + o * matrix_);
  }

 private:
  std::int64_t row_size() const { return matrix_ * trees_.n_outputs; }

  // From the sums above the diagonal and the row's contributions, kRows apart, to its matrix.
  void complete(const double* columns, std::int64_t output, double* matrix) const {
    const std::int64_t n = trees_.n_cols;
    for (std::int64_t j = 0; j < n; ++j) matrix[j * n + j] = columns[j * kRows] * trees_.scale;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j) {
        const double half = matrix[i * n + j] * (trees_.scale / 2);
        matrix[i * n + j] = matrix[j * n + i] = half;
        matrix[i * n + i] -= half, matrix[j * n + j] -= half;
      }
    }
    matrix[n * n] = columns[n * kRows] * trees_.scale;
    if (!trees_.base.empty()) matrix[n * n] += trees_.base[static_cast<std::size_t>(output)];
  }

  const ShapTrees& trees_;
  const std::int64_t n_rows_, width_, matrix_;   // matrix_: its numbers and the expected answer
  const BlockWalks walks_;
};

}   // namespace

void require_few_interactions(std::int64_t n_rows, double numbers_a_row) {
  const double numbers = static_cast<double>(n_rows) * numbers_a_row;
  if (numbers <= static_cast<double>(kMostInteractions)) return;
  throw schema::Error(schema::ErrorCode::kInvalidValue,
                      fmt::format("interactions of {} rows are {:.0f} numbers, {:.0f} each, at most {} are answered at "
                                  "once",
                                  n_rows, numbers, numbers_a_row, kMostInteractions),
                      "rows");
}

std::vector<double> tree_interactions(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions) {
  const auto n_cols = static_cast<double>(trees.n_cols);
  require_few_interactions(n_rows, trees.n_outputs * (n_cols * n_cols + 1));
  std::vector<double> all(static_cast<std::size_t>(n_rows * trees.n_outputs * (trees.n_cols * trees.n_cols + 1)));
  const Interacting work(trees, n_rows, directions);
  constexpr std::int64_t kNodeNs = 50;
  for_tasks((n_rows + kShapLanes - 1) / kShapLanes, n_rows * static_cast<std::int64_t>(trees.feature.size()) * kNodeNs,
            [&](std::int64_t block) { work.run(block, all.data()); });
  return all;
}

}   // namespace kedge::engine
