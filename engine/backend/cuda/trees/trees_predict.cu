// Running rows through a forest on the device. Many narrow rows: a thread takes a row through all trees, whose nodes
// come through shared memory. Wide ones, and fewer: a thread for each row and tree, and then one for each sum. A few: a
// block a row. All add up the trees in order, so that the sums are those of the CPU.
#include <algorithm>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/packed_trees.h"
#include "engine/backend/cuda/trees/ready_trees.h"
#include "engine/backend/cuda/trees/walked_rows.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::uint32_t kNoLeaf = 0xffffffff;                // the tree drew the row

template <class Cell>
struct CodeRows {
  static constexpr bool kAreTogether = false;
  const std::uint8_t* codes;
  std::int64_t n_table;
  const std::int32_t* rows;   // null: all
  __device__ Cell cell(std::int64_t i, std::uint32_t column) const {
    return static_cast<Cell>(codes[column * n_table + (rows ? rows[i] : i)]);
  }
};

// Of n rows, beginning with `first`; what is added up, and whether a tree passes over a row.
struct RowSums {
  std::int64_t first, n;
  double* out;
  std::int64_t stride;
  double divisor;              // 1: sums
  const std::uint8_t* drawn;   // null, or by tree and row
  std::int64_t n_all;          // rows of `drawn`
  __device__ bool passes(std::int64_t t, std::int64_t i) const { return drawn && drawn[t * n_all + first + i]; }
};

// The number of the leaf that a row reaches. The first n_near nodes of the tree are at `near`. Bound by the latency of
// two dependent reads a level.
template <class Node, class CellOf>
__device__ std::uint32_t leaf_of(const Node* near, std::int64_t n_near, const Node* nodes, NodeLinks links,
                                 const CellOf& cell_of) {
  for (std::uint32_t at = 0;;) {
    const Node node = at < n_near ? near[at] : nodes[at];
    const std::uint32_t column = node.column(links);
    if (column == links.leaf) return node.number();
    at = node.left(links) + (cell_of(column) <= node.cut ? 0U : 1U);
  }
}

template <class Node>
__device__ void add_leaf(const PackedView<Node>& trees, std::uint32_t number, double* sums, std::int64_t step) {
  const auto n_classes = static_cast<std::uint32_t>(trees.n_classes);
  if (number < n_classes) {
    sums[number * step] += 1.0;
    return;
  }
  const double* const values = trees.values + static_cast<std::int64_t>(number - n_classes) * trees.n_outputs;
  for (std::int32_t c = 0; c < trees.n_outputs; ++c) sums[c * step] += values[c];
}

// A thread a row. Each block reads all nodes once; a visit of a node and a cell in shared memory takes its banks about
// 8 cycles a warp, which is what bounds it.
template <class Node, class Rows>
__global__ void __launch_bounds__(512)
    walk_rows(PackedView<Node> trees, Rows rows, RowSums of, std::int64_t cache_nodes, bool shares_sums) {
  using Cell = typename Node::Cell;
  KEDGE_DYNAMIC_SHARED(Node, cache);
  const int threads = static_cast<int>(blockDim.x), own = static_cast<int>(threadIdx.x);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * threads, i = begin + own;
  const NodeLinks links = trees.links;
  // Nodes, sums, cells: what has 8 bytes comes before what may have 4.
  auto* const shared_sums = reinterpret_cast<double*>(cache + cache_nodes);
  auto* const cells = reinterpret_cast<Cell*>(shared_sums + (shares_sums ? trees.n_outputs * threads : 0));
  load_cells(rows, of.first + begin, of.n - begin, links.leaf, cells);
  double* const sums = shares_sums ? shared_sums + own : of.out + i * of.stride;
  const std::int64_t step = shares_sums ? threads : 1;
  for (std::int32_t c = 0; c < trees.n_outputs && i < of.n; ++c) sums[c * step] = 0;
  const auto cell_of = [&](std::uint32_t column) { return cells[column * static_cast<std::uint32_t>(threads) + own]; };
  for (std::int32_t g = 0; g < trees.n_groups; ++g) {
    const TreeGroup group = trees.groups[g];
    __syncthreads();
    for (std::int64_t k = own; k < group.n_cached; k += threads) cache[k] = trees.nodes[group.begin + k];
    __syncthreads();
    for (std::int32_t t = group.first; t < group.last && i < of.n; ++t) {
      if (of.passes(t, i)) continue;
      const std::int64_t root = trees.root[t], before = root - group.begin;
      const std::uint32_t number = leaf_of(cache + before, group.n_cached - before, trees.nodes + root, links, cell_of);
      add_leaf(trees, number, sums, step);
    }
  }
  for (std::int32_t c = 0; c < trees.n_outputs && i < of.n; ++c)
    of.out[i * of.stride + c] = sums[c * step] / of.divisor;
}

// The leaf of each row in each tree, leaves[t * n + i].
template <class Node, class Rows>
__global__ void find_leaves(PackedView<Node> trees, Rows rows, RowSums of, std::uint32_t* leaves) {
  const std::int64_t i = own_item(), t = block_y();
  if (i >= of.n || t >= trees.n_trees) return;
  std::uint32_t number = kNoLeaf;
  if (!of.passes(t, i))
    number = leaf_of<Node>(nullptr, 0, trees.nodes + trees.root[t], trees.links,
                           [&](std::uint32_t column) { return rows.cell(of.first + i, column); });
  leaves[t * of.n + i] = number;
}

// `sum` and output c of the leaves of n trees, in their order. Some are read at once: their places are not known
// before.
template <class Node, class NumberOf>
__device__ double add_leaves(const PackedView<Node>& trees, double sum, std::int64_t n, std::int64_t c,
                             const NumberOf& number_of) {
  constexpr int kAtOnce = 8;
  const auto n_classes = static_cast<std::uint32_t>(trees.n_classes);
  for (std::int64_t t = 0; t < n; t += kAtOnce) {
    double adds[kAtOnce];   // 0, which changes no sum, where there is no leaf
    KEDGE_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      const std::uint32_t number = t + k < n ? number_of(t + k) : kNoLeaf;
      if (number == kNoLeaf) adds[k] = 0;
      else if (number < n_classes) adds[k] = number == c ? 1.0 : 0.0;
      else adds[k] = trees.values[static_cast<std::int64_t>(number - n_classes) * trees.n_outputs + c];
    }
    KEDGE_UNROLL
    for (int k = 0; k < kAtOnce; ++k) sum += adds[k];
  }
  return sum;
}

// Each row's outputs, an output a thread.
template <class Node>
__global__ void sum_leaves(PackedView<Node> trees, const std::uint32_t* leaves, RowSums of) {
  const std::int64_t item = own_item(), i = item / trees.n_outputs, c = item % trees.n_outputs;
  if (i >= of.n) return;
  const auto number_of = [&](std::int64_t t) { return leaves[t * of.n + i]; };
  of.out[i * of.stride + c] = add_leaves(trees, 0.0, trees.n_trees, c, number_of) / of.divisor;
}

// A block a row: a thread finds a leaf, then a thread adds up an output. One launch, for what a server is asked.
template <class Node, class Rows>
__global__ void walk_row(PackedView<Node> trees, Rows rows, RowSums of) {
  __shared__ std::uint32_t numbers[kWalkThreads];
  const int own = static_cast<int>(threadIdx.x);
  const std::int64_t i = blockIdx.x;
  double* const out = of.out + i * of.stride;
  for (std::int64_t first = 0; first < trees.n_trees; first += kWalkThreads) {
    const std::int64_t t = first + own, n = min(static_cast<std::int64_t>(kWalkThreads), trees.n_trees - first);
    std::uint32_t number = kNoLeaf;
    if (own < n && !of.passes(t, i))
      number = leaf_of<Node>(nullptr, 0, trees.nodes + trees.root[t], trees.links,
                             [&](std::uint32_t column) { return rows.cell(of.first + i, column); });
    __syncthreads();   // the numbers before are read
    numbers[own] = number;
    __syncthreads();
    for (std::int32_t c = own; c < trees.n_outputs; c += kWalkThreads)
      out[c] = add_leaves(trees, first > 0 ? out[c] : 0.0, n, c, [&](std::int64_t k) { return numbers[k]; });
  }
  for (std::int32_t c = own; c < trees.n_outputs; c += kWalkThreads) out[c] /= of.divisor;   // its own sums
}

template <class Node, class Rows>
void sum_many(CudaRuntime& runtime, const PackedTrees<Node>& packed, const Rows& rows, const RowSums& of) {
  const BlockPlan& plan = packed.plan();
  KEDGE_LAUNCH(runtime, (walk_rows<Node, Rows>), blocks_for(of.n, plan.threads), plan.threads, plan.shared_bytes,
               packed.view(), rows, of, plan.cache_nodes, plan.shares_sums);
}

template <class Node, class Rows>
void sum_leaf_by_leaf(CudaRuntime& runtime, const PackedTrees<Node>& packed, const Rows& rows, RowSums of) {
  const PackedView<Node> view = packed.view();
  const std::int64_t n = of.n, n_cols = view.links.leaf;
  const std::int64_t chunk = rows_of_launch(n, view.n_trees, n_cols);
  Array<std::uint32_t> leaves(runtime, chunk * view.n_trees);
  double* const out = of.out;
  for (std::int64_t first = 0; first < n; first += chunk) {
    of.first = first, of.n = std::min(chunk, n - first), of.out = out + first * of.stride;
    KEDGE_LAUNCH(runtime, (find_leaves<Node, Rows>),
                 tall_grid(runtime, blocks_for(of.n, kWalkThreads), static_cast<unsigned>(view.n_trees)), kWalkThreads,
                 0, view, rows, of, leaves.data());
    KEDGE_LAUNCH(runtime, sum_leaves<Node>, blocks_for(of.n * view.n_outputs, kWalkThreads), kWalkThreads, 0, view,
                 leaves.data(), of);
  }
}

template <class Node, class Rows>
void sum_rows(CudaRuntime& runtime, const PackedTrees<Node>& packed, const Rows& rows, const RowSums& of) {
  if (of.n == 0) return;
  const std::int64_t blocks = runtime.multiprocessors();
  const BlockPlan& plan = packed.plan();
  if (of.n <= kFewRows * blocks)
    KEDGE_LAUNCH(runtime, (walk_row<Node, Rows>), static_cast<unsigned>(of.n), kWalkThreads, 0, packed.view(), rows,
                 of);
  else if (of.n >= kManyRows * blocks && plan.threads > 0) sum_many(runtime, packed, rows, of);
  else sum_leaf_by_leaf(runtime, packed, rows, of);
}

}   // namespace

const PackedTrees<NarrowTreeNode>* ReadyTrees::narrow(Form& form, bool by_bins) const {
  if (!form.is_packed) {
    form.is_packed = true;
    if (PackedTrees<NarrowTreeNode>::fits(forest_))
      form.narrow = std::make_unique<PackedTrees<NarrowTreeNode>>(runtime_, forest_, by_bins);
    else form.wide = std::make_unique<PackedTrees<WideTreeNode>>(runtime_, forest_, by_bins);
  }
  return form.narrow.get();
}

void ReadyTrees::sum_codes(const BinnedTable& table, VectorView<const std::int32_t> rows, const std::uint8_t* drawn,
                           MatrixView<double> out) const {
  const std::int32_t* const of_table = rows.empty() ? nullptr : raw(rows);
  const double divisor = drawn ? 1.0 : static_cast<double>(forest_.n_trees());
  const RowSums of{0, out.rows, raw(out), out.stride, divisor, drawn, out.rows};
  if (const auto* packed = narrow(codes_, true))
    return sum_rows(runtime_, *packed, CodeRows<float>{raw(table.codes), table.n_rows, of_table}, of);
  sum_rows(runtime_, *codes_.wide, CodeRows<double>{raw(table.codes), table.n_rows, of_table}, of);
}

void ReadyTrees::predict(MatrixView<const float> X, MatrixView<double> out) const {
  const RowSums of{0, out.rows, raw(out), out.stride, static_cast<double>(forest_.n_trees()), nullptr, 0};
  if (const auto* packed = narrow(values_, false))
    return sum_rows(runtime_, *packed, ValueRows<float, float>{raw(X), X.stride}, of);
  sum_rows(runtime_, *values_.wide, ValueRows<float, double>{raw(X), X.stride}, of);
}

void ReadyTrees::predict(MatrixView<const double> X, MatrixView<double> out) const {
  const RowSums of{0, out.rows, raw(out), out.stride, static_cast<double>(forest_.n_trees()), nullptr, 0};
  if (!values_.wide) values_.wide = std::make_unique<PackedTrees<WideTreeNode>>(runtime_, forest_, false);
  sum_rows(runtime_, *values_.wide, ValueRows<double, double>{raw(X), X.stride}, of);
}

}   // namespace kedge::engine
