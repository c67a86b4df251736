// Runs rows through the trees of boosting: a block of rows at a time through all trees, eight rows side by side.
#include "engine/backend/host/boost_forest.h"

#include <algorithm>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = 256;   // rows, whose cells stay in the second-level cache
constexpr int kLanes = 8;
constexpr std::int64_t kStepNs = 8;    // a row and a tree
constexpr std::int64_t kCodedNs = 4;   // the same, coded

// A node on 16 bytes. A leaf leads to itself.
struct Step {
  double threshold;
  std::int32_t left;
  std::int32_t feature;   // missing values go left: its complement
};

struct Tree {
  std::vector<Step> steps;
  std::int32_t depth = 0;
  bool has_sets = false;
};

// Node numbers within the tree.
Tree tree_of(const BoostForest& f, std::int64_t t) {
  const std::int64_t begin = f.tree_offset[static_cast<std::size_t>(t)],
                     end = f.tree_offset[static_cast<std::size_t>(t) + 1];
  Tree tree;
  std::vector<std::int32_t> depth(static_cast<std::size_t>(end - begin));
  for (std::int64_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto self = static_cast<std::int32_t>(i - begin);
    if (f.feature[at] < 0) {   // the child is left + (x > threshold): of a leaf's own row, never
      tree.steps.push_back({0, self, -1});
      continue;
    }
    const auto left = static_cast<std::int32_t>(f.left[at] - begin);
    tree.steps.push_back({f.threshold[at], left, f.feature[at]});
    const std::int32_t below = depth[static_cast<std::size_t>(self)] + 1;
    depth[static_cast<std::size_t>(left)] = depth[static_cast<std::size_t>(left) + 1] = below;
    tree.depth = std::max(tree.depth, below);
    tree.has_sets |= f.set[at] >= 0;
  }
  return tree;
}

bool is_in_set(const BoostForest& f, std::int32_t node, double value) {
  const auto at = static_cast<std::size_t>(node);
  const auto column = static_cast<std::size_t>(f.feature[at]);
  const auto begin = f.categories.begin() + f.category_offset[column],
             end = f.categories.begin() + f.category_offset[column + 1];
  const auto found = std::lower_bound(begin, end, value);
  if (!(value == value) || found == end || *found != value) return f.missing_left[at];
  const auto code = static_cast<std::size_t>(found - begin);
  return f.sets[static_cast<std::size_t>(f.set[at]) * 32 + code / 8] >> (code % 8) & 1;
}

bool goes_left(const BoostForest& f, std::int32_t node, double value) {
  const auto at = static_cast<std::size_t>(node);
  if (f.set[at] >= 0) return is_in_set(f, node, value);
  return value != value ? f.missing_left[at] != 0 : value <= f.threshold[at];
}

template <class T>
class Walker {
 public:
  Walker(const BoostForest& f, MatrixView<const T> X, std::span<const std::int32_t> rows) : f_(f), X_(X), rows_(rows) {}

  // The leaf of one row, of any tree.
  std::int32_t leaf_of(std::int64_t root, std::int64_t row) const {
    const T* const x = row_at(row);
    auto node = static_cast<std::int32_t>(root);
    while (f_.feature[static_cast<std::size_t>(node)] >= 0) {
      const auto at = static_cast<std::size_t>(node);
      const T value = x[f_.feature[at]];
      const bool left = goes_left(f_, node, static_cast<double>(value));
      node = f_.left[at] + (left ? 0 : 1);
    }
    return node;
  }

  const T* row_at(std::int64_t i) const {
    return raw(X_) + (rows_.empty() ? i : std::int64_t{rows_[static_cast<std::size_t>(i)]}) * X_.stride;
  }

  // Rows begin .. end - 1 through a tree of cuts on values, where no cell of them is missing.
  void add(const Tree& tree, std::int64_t root, std::int64_t begin, std::int64_t end, double* out) const {
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      std::int32_t node[kLanes] = {};
      const T* x[kLanes];
      for (int l = 0; l < kLanes; ++l) x[l] = row_at(i + l);
      for (std::int32_t d = 0; d < tree.depth; ++d) {
        std::int32_t moved = 0;
        for (int l = 0; l < kLanes; ++l) {
          const Step step = tree.steps[static_cast<std::size_t>(node[l])];
          const bool inner = step.feature >= 0;
          const T value = x[l][inner ? step.feature : 0];
          node[l] = step.left + static_cast<std::int32_t>(inner & (static_cast<double>(value) > step.threshold));
          moved |= inner;
        }
        if (!moved) break;
      }
      for (int l = 0; l < kLanes; ++l) out[i + l] += f_.value[static_cast<std::size_t>(root + node[l])];
    }
    for (; i < end; ++i) out[i] += f_.value[static_cast<std::size_t>(leaf_of(root, i))];
  }

  bool has_missing(std::int64_t begin, std::int64_t end) const {
    T sum = 0;
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < X_.cols; ++j) sum += row_at(i)[j] * T{0};
    return sum != sum;
  }

 private:
  const BoostForest& f_;
  MatrixView<const T> X_;
  std::span<const std::int32_t> rows_;
};

}   // namespace

template <class T>
void add_boosted(const BoostForest& forest, std::int64_t first, MatrixView<const T> X,
                 std::span<const std::int32_t> rows, std::span<double> raw) {
  const std::int64_t n = rows.empty() ? X.rows : static_cast<std::int64_t>(rows.size()), n_trees = forest.n_trees();
  std::vector<Tree> trees;
  for (std::int64_t t = first; t < n_trees; ++t) trees.push_back(tree_of(forest, t));
  const Walker<T> walker(forest, X, rows);
  for_tasks((n + kBlock - 1) / kBlock, n * (n_trees - first) * kStepNs, [&](std::int64_t block) {
    const std::int64_t begin = block * kBlock, end = std::min(n, begin + kBlock);
    const bool is_plain = end - begin >= kLanes && !walker.has_missing(begin, end);
    check_job_stop();
    for (std::int64_t t = first; t < n_trees; ++t) {
      const std::int64_t root = forest.tree_offset[static_cast<std::size_t>(t)];
      const Tree& tree = trees[static_cast<std::size_t>(t - first)];
      double* const out = raw.data() + t % forest.n_outputs * n;
      if (is_plain && !tree.has_sets) walker.add(tree, root, begin, end, out);
      else
        for (std::int64_t i = begin; i < end; ++i)
          out[i] += forest.value[static_cast<std::size_t>(walker.leaf_of(root, i))];
    }
  });
}

std::unique_ptr<const CodedTrees> coded_trees(const BoostForest& forest) {
  if (std::ranges::any_of(forest.set, [](std::int32_t set) { return set >= 0; })) return nullptr;
  std::size_t t = 0;
  return CodedTrees::pack({.n_cols = forest.n_cols,
                           .tree_offset = forest.tree_offset,
                           .feature = forest.feature,
                           .threshold = forest.threshold,
                           .left = forest.left,
                           .right = {},
                           .missing_left = forest.missing_left},
                          [&](std::int64_t node) {
                            while (node >= forest.tree_offset[t + 1]) ++t;
                            return static_cast<std::uint32_t>(node - forest.tree_offset[t]);
                          });
}

template <class T>
void add_coded(const CodedTrees& trees, const BoostForest& forest, MatrixView<const T> X, std::span<double> raw) {
  const std::int64_t n = X.rows, threads = omp_get_max_threads();
  const std::int64_t block =
      std::clamp<std::int64_t>(((n + threads - 1) / threads + 15) / 16 * 16, 16, CodedTrees::kBlockRows);
  for_tasks((n + block - 1) / block, n * trees.n_trees() * kCodedNs, [&](std::int64_t b) {
    const std::int64_t begin = b * block;
    check_job_stop();
    trees.walk(
        0, std::min(block, n - begin), [&](std::int64_t i) { return engine::raw(X) + (begin + i) * X.stride; },
        [&](std::int64_t t, std::int64_t i, std::uint32_t number) {
          const auto leaf = static_cast<std::size_t>(forest.tree_offset[static_cast<std::size_t>(t)] + number);
          raw[static_cast<std::size_t>(t % forest.n_outputs * n + begin + i)] += forest.value[leaf];
        });
  });
}

template void add_coded(const CodedTrees&, const BoostForest&, MatrixView<const float>, std::span<double>);
template void add_coded(const CodedTrees&, const BoostForest&, MatrixView<const double>, std::span<double>);
template void add_boosted(const BoostForest&, std::int64_t, MatrixView<const float>, std::span<const std::int32_t>,
                          std::span<double>);
template void add_boosted(const BoostForest&, std::int64_t, MatrixView<const double>, std::span<const std::int32_t>,
                          std::span<double>);

}   // namespace kedge::engine
