// Sums of the leaves that rows reach in the trees of boosting and of other programs. Many narrow rows: a thread takes a
// row through all trees, whose nodes come through shared memory; shallow trees are filled up for it. Wide rows, and
// fewer: a thread for each row and tree, and then one for each sum. A few: a block a row. All add up the trees of an
// output in order: the sums of the CPU.
#include <algorithm>
#include <string>
#include <type_traits>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/packed_walk.h"
#include "engine/backend/cuda/trees/ready_walk.h"
#include "engine/backend/cuda/trees/walked_rows.cuh"
#include "engine/backend/raw.h"
#include "engine/core/category_set.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kReadBytes = std::int64_t{64} << 20;   // of cells that are read into others at once

// Rows whose cells have the type of the nodes.
template <class Node>
using NodeCells = ValueRows<typename Node::Cell, typename Node::Cell>;

// Of n rows, beginning with `first`: where the sums go, output by output.
struct WalkSums {
  std::int64_t first, n;
  double* out;
  std::int64_t stride;
};

// Whether a row goes left. NaN goes where the node says, and is not at most any cut.
template <class Node, class Sum>
__device__ bool goes_left(const WalkView<Node, Sum>& trees, const Node& node, typename Node::Cell value) {
  if (value != value) return node.is_missing_left();
  const WalkKind kind = node.kind();
  if (kind == WalkKind::kCut) return value <= node.cut;
  if (kind == WalkKind::kEqual) return value == node.cut;
  const auto wide = static_cast<double>(value);
  if (kind == WalkKind::kZeroMissing)
    return -kWalkZeroRange <= wide && wide <= kWalkZeroRange ? node.is_missing_left() : value <= node.cut;
  const std::uint32_t set = node.number();
  const std::int64_t begin = trees.set_offset[set];
  return is_in_category_set(trees.set_words + begin, trees.set_offset[set + 1] - begin, trees.is_float32, wide);
}

// What the leaf adds that a row reaches. The first n_near nodes of the tree are at `near`. Bound by the latency of two
// dependent reads a level.
template <class Node, class Sum, class CellOf>
__device__ Sum leaf_value(const WalkView<Node, Sum>& trees, const Node* near, std::int64_t n_near, const Node* nodes,
                          const CellOf& cell_of) {
  for (std::uint32_t at = 0;;) {
    const Node node = at < n_near ? near[at] : nodes[at];
    const std::uint32_t column = node.column(trees.links);
    if (column == trees.links.leaf) {
      if constexpr (sizeof(Sum) > sizeof(typename Node::Cell)) return trees.leaves[node.number()];
      else return static_cast<Sum>(node.cut);
    }
    at = node.left(trees.links) + (goes_left(trees, node, cell_of(column)) ? 0U : 1U);
  }
}

template <class Node, class Sum>
__device__ void put_sum(const WalkView<Node, Sum>& trees, const WalkSums& of, std::int64_t i, std::int32_t output,
                        Sum sum) {
  if (i < of.n) of.out[output * of.stride + i] = static_cast<double>(sum / trees.divisor);
}

// A thread a row. Each block reads all nodes once; a visit of a node and a cell in shared memory takes its banks about
// 8 cycles a warp, which is what bounds it.
template <class Node, class Sum>
__global__ void __launch_bounds__(512)
    sum_row_walks(WalkView<Node, Sum> trees, NodeCells<Node> rows, WalkSums of, std::int64_t cache_nodes) {
  using Cell = typename Node::Cell;
  KEDGE_DYNAMIC_SHARED(Node, cache);
  const int threads = static_cast<int>(blockDim.x), own = static_cast<int>(threadIdx.x);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * threads, i = begin + own;
  auto* const cells = reinterpret_cast<Cell*>(cache + cache_nodes);
  load_cells(rows, of.first + begin, of.n - begin, trees.links.leaf, cells);
  const auto cell_of = [&](std::uint32_t column) { return cells[column * static_cast<std::uint32_t>(threads) + own]; };
  std::int32_t output = 0;   // the same in all threads
  Sum sum = trees.base[0];
  for (std::int32_t g = 0; g < trees.n_groups; ++g) {
    const TreeGroup group = trees.groups[g];
    __syncthreads();
    for (std::int64_t k = own; k < group.n_cached; k += threads) cache[k] = trees.nodes[group.begin + k];
    __syncthreads();
    for (std::int32_t t = group.first; t < group.last; ++t) {
      for (; t >= trees.output_begin[output + 1]; sum = trees.base[++output]) put_sum(trees, of, i, output, sum);
      if (i >= of.n) continue;
      const std::int64_t root = trees.root[t], before = root - group.begin;
      sum += leaf_value(trees, cache + before, group.n_cached - before, trees.nodes + root, cell_of);
    }
  }
  for (;; sum = trees.base[output]) {
    put_sum(trees, of, i, output, sum);
    if (++output == trees.n_outputs) break;
  }
}

// `sum` and what kTrees trees add, one after the other. Their steps do not wait for each other.
template <int kTrees, class Cell, class Sum>
__device__ Sum add_shallow(const ShallowNode<Cell>* nodes, const Sum* leaves, int n_levels, Sum sum,
                           const Cell* own_cells) {
  std::uint32_t at[kTrees];
  KEDGE_UNROLL
  for (int k = 0; k < kTrees; ++k) at[k] = 1;
  for (int level = 0; level < n_levels; ++level) {
    KEDGE_UNROLL
    for (int k = 0; k < kTrees; ++k) {
      const ShallowNode<Cell> node = nodes[(k << n_levels) + at[k]];
      at[k] = 2 * at[k] + (node.goes_left(own_cells[node.column_begin()]) ? 0U : 1U);
    }
  }
  KEDGE_UNROLL
  for (int k = 0; k < kTrees; ++k) sum += leaves[(k << n_levels) + at[k] - (1U << n_levels)];
  return sum;
}

// As sum_row_walks. A level of a tree is some ten instructions, and two reads of shared memory, for 32 rows.
template <class Node, class Sum>
__global__ void __launch_bounds__(512)
    sum_shallow_walks(WalkView<Node, Sum> trees, ShallowView<typename Node::Cell, Sum> shallow, NodeCells<Node> rows,
                      WalkSums of) {
  using Cell = typename Node::Cell;
  constexpr int kAtOnce = 4;
  KEDGE_DYNAMIC_SHARED(ShallowNode<Cell>, cache);
  const int threads = static_cast<int>(blockDim.x), own = static_cast<int>(threadIdx.x), n_levels = shallow.n_levels;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * threads, i = begin + own;
  auto* const leaves = reinterpret_cast<Sum*>(cache + (std::int64_t{shallow.n_together} << n_levels));
  auto* const cells = reinterpret_cast<Cell*>(leaves + (std::int64_t{shallow.n_together} << n_levels));
  load_cells(rows, of.first + begin, of.n - begin, trees.links.leaf, cells);
  const auto n_trees = static_cast<std::int32_t>(trees.n_trees);
  std::int32_t output = 0;   // the same in all threads
  Sum sum = trees.base[0];
  for (std::int32_t first = 0; first < n_trees; first += shallow.n_together) {
    const std::int32_t last = min(first + shallow.n_together, n_trees), n_nodes = (last - first) << n_levels;
    const std::int64_t before = static_cast<std::int64_t>(first) << n_levels;
    __syncthreads();
    for (std::int32_t k = own; k < n_nodes; k += threads)
      cache[k] = shallow.nodes[before + k], leaves[k] = shallow.leaves[before + k];
    __syncthreads();
    for (std::int32_t t = first; t < last;) {
      for (; t >= trees.output_begin[output + 1]; sum = trees.base[++output]) put_sum(trees, of, i, output, sum);
      const std::int32_t end = min(last, trees.output_begin[output + 1]);
      for (; i < of.n && t + kAtOnce <= end; t += kAtOnce) {
        const std::int32_t from = (t - first) << n_levels;
        sum = add_shallow<kAtOnce>(cache + from, leaves + from, n_levels, sum, cells + own);
      }
      for (; i < of.n && t < end; ++t) {
        const std::int32_t from = (t - first) << n_levels;
        sum = add_shallow<1>(cache + from, leaves + from, n_levels, sum, cells + own);
      }
      t = end;
    }
  }
  for (;; sum = trees.base[output]) {
    put_sum(trees, of, i, output, sum);
    if (++output == trees.n_outputs) break;
  }
}

// What the leaf of each row in each tree adds, values[t * n + i].
template <class Node, class Sum>
__global__ void find_leaf_values(WalkView<Node, Sum> trees, NodeCells<Node> rows, WalkSums of, Sum* values) {
  const std::int64_t i = own_item(), t = block_y();
  if (i >= of.n || t >= trees.n_trees) return;
  values[t * of.n + i] = leaf_value<Node, Sum>(trees, nullptr, 0, trees.nodes + trees.root[t],
                                               [&](std::uint32_t column) { return rows.cell(of.first + i, column); });
}

// `sum` and n values, in their order. Some are read at once.
template <class Sum, class ValueOf>
__device__ Sum add_values(Sum sum, std::int64_t n, const ValueOf& value_of) {
  constexpr int kAtOnce = 8;
  std::int64_t k = 0;
  for (; k + kAtOnce <= n; k += kAtOnce) {
    Sum values[kAtOnce];
    KEDGE_UNROLL
    for (int l = 0; l < kAtOnce; ++l) values[l] = value_of(k + l);
    KEDGE_UNROLL
    for (int l = 0; l < kAtOnce; ++l) sum += values[l];
  }
  for (; k < n; ++k) sum += value_of(k);
  return sum;
}

// An output of a row a thread.
template <class Node, class Sum>
__global__ void sum_leaf_values(WalkView<Node, Sum> trees, const Sum* values, WalkSums of) {
  const std::int64_t item = own_item(), i = item % of.n;
  const auto output = static_cast<std::int32_t>(item / of.n);
  if (output >= trees.n_outputs) return;
  const std::int64_t first = trees.output_begin[output], n = trees.output_begin[output + 1] - first;
  put_sum(trees, of, i, output,
          add_values(trees.base[output], n, [&](std::int64_t k) { return values[(first + k) * of.n + i]; }));
}

// A block a row: a thread finds a leaf, then a thread adds up an output. One launch, for what a server is asked.
template <class Node, class Sum>
__global__ void sum_row_walk(WalkView<Node, Sum> trees, NodeCells<Node> rows, WalkSums of) {
  __shared__ Sum values[kWalkThreads];
  const int own = static_cast<int>(threadIdx.x);
  const std::int64_t i = blockIdx.x;
  for (std::int32_t c = own; c < trees.n_outputs; c += kWalkThreads)   // each thread its own outputs
    of.out[c * of.stride + i] = static_cast<double>(trees.base[c]);
  for (std::int64_t first = 0; first < trees.n_trees; first += kWalkThreads) {
    const std::int64_t t = first + own, last = min(first + kWalkThreads, trees.n_trees);
    Sum value = 0;
    if (t < last)
      value = leaf_value<Node, Sum>(trees, nullptr, 0, trees.nodes + trees.root[t],
                                    [&](std::uint32_t column) { return rows.cell(of.first + i, column); });
    __syncthreads();   // the values before are read
    values[own] = value;
    __syncthreads();
    for (std::int32_t c = own; c < trees.n_outputs; c += kWalkThreads) {
      const std::int64_t begin = max(first, static_cast<std::int64_t>(trees.output_begin[c])),
                         end = min(last, static_cast<std::int64_t>(trees.output_begin[c + 1]));
      double& sum = of.out[c * of.stride + i];
      sum = static_cast<double>(
          add_values(static_cast<Sum>(sum), end - begin, [&](std::int64_t k) { return values[begin - first + k]; }));
    }
  }
  for (std::int32_t c = own; c < trees.n_outputs; c += kWalkThreads)
    put_sum(trees, of, i, c, static_cast<Sum>(of.out[c * of.stride + i]));
}

// Cells of n rows as the trees read them, without padding: by their codes, or in the type of the nodes.
template <class X, class Cell>
__global__ void read_cells(ValueRows<X, Cell> rows, std::int64_t first, std::int64_t n, std::int64_t n_cols,
                           KeyColumns columns, Cell* out) {
  const std::int64_t item = own_item(), i = item / n_cols, j = item % n_cols;
  if (i >= n) return;
  out[item] = columns.read(rows.cell(first + i, static_cast<std::uint32_t>(j)), j);
}

template <class Node, class Sum>
void sum_rows(CudaRuntime& runtime, const PackedWalk<Node, Sum>& packed, const NodeCells<Node>& rows, WalkSums of) {
  const WalkView<Node, Sum> view = packed.view();
  const std::int64_t n = of.n, blocks = runtime.multiprocessors();
  const BlockPlan& plan = packed.plan();
  if (n <= kFewRows * blocks) {
    KEDGE_LAUNCH(runtime, (sum_row_walk<Node, Sum>), static_cast<unsigned>(n), kWalkThreads, 0, view, rows, of);
    return;
  }
  if (const ShallowTrees<Node, Sum>* const shallow = packed.shallow(); shallow && n >= kManyRows * blocks) {
    KEDGE_LAUNCH(runtime, (sum_shallow_walks<Node, Sum>), blocks_for(n, shallow->plan().threads),
                 shallow->plan().threads, shallow->plan().shared_bytes, view, shallow->view(), rows, of);
    return;
  }
  if (n >= kManyRows * blocks && plan.threads > 0) {
    KEDGE_LAUNCH(runtime, (sum_row_walks<Node, Sum>), blocks_for(n, plan.threads), plan.threads, plan.shared_bytes,
                 view, rows, of, plan.cache_nodes);
    return;
  }
  const std::int64_t first = of.first, chunk = rows_of_launch(n, view.n_trees, view.links.leaf);
  Array<Sum> values(runtime, chunk * view.n_trees);
  double* const out = of.out;
  for (std::int64_t done = 0; done < n; done += chunk) {
    of.first = first + done, of.n = std::min(chunk, n - done), of.out = out + done;
    KEDGE_LAUNCH(runtime, (find_leaf_values<Node, Sum>),
                 tall_grid(runtime, blocks_for(of.n, kWalkThreads), static_cast<unsigned>(view.n_trees)), kWalkThreads,
                 0, view, rows, of, values.data());
    KEDGE_LAUNCH(runtime, (sum_leaf_values<Node, Sum>), blocks_for(of.n * view.n_outputs, kWalkThreads), kWalkThreads,
                 0, view, values.data(), of);
  }
}

template <class Node, class Sum, class X>
class CudaWalk final : public ReadyWalk {
 public:
  using Cell = typename Node::Cell;
  CudaWalk(CudaRuntime& runtime, const WalkTrees& trees) : runtime_(runtime), packed_(runtime, trees) {}

  void sums(MatrixView<const float> rows, const CellKeys& keys, MatrixView<double> out) const override {
    sum_any(rows, keys, out);
  }
  void sums(MatrixView<const double> rows, const CellKeys& keys, MatrixView<double> out) const override {
    sum_any(rows, keys, out);
  }

 private:
  template <class T>
  void sum_any(MatrixView<const T> rows, const CellKeys& keys, MatrixView<double> out) const {
    if constexpr (std::is_same_v<T, X>) {
      if (rows.rows == 0) return;
      if (sizeof(X) != sizeof(Cell) || !keys.offset.empty()) return sum_read(rows, keys, out);
      if constexpr (sizeof(X) == sizeof(Cell))
        sum_rows(runtime_, packed_, NodeCells<Node>{raw(rows), rows.stride}, {0, rows.rows, raw(out), out.stride});
    } else {
      throw schema::Error(schema::ErrorCode::kInternal, "trees were prepared for rows of another type");
    }
  }

  // A piece of the rows after the other, through cells of their own.
  void sum_read(MatrixView<const X> rows, const CellKeys& keys, MatrixView<double> out) const {
    const DeviceKeys columns(runtime_, keys);
    const std::int64_t most =
        std::max<std::int64_t>(1, kReadBytes / static_cast<std::int64_t>(rows.cols * sizeof(Cell)));
    const std::int64_t chunk = std::min(rows.rows, most);
    Array<Cell> cells(runtime_, chunk * rows.cols);
    for (std::int64_t first = 0; first < rows.rows; first += chunk) {
      const std::int64_t n = std::min(chunk, rows.rows - first);
      KEDGE_LAUNCH(runtime_, (read_cells<X, Cell>), blocks_for(n * rows.cols, kWalkThreads), kWalkThreads, 0,
                   (ValueRows<X, Cell>{raw(rows), rows.stride}), first, n, rows.cols, columns.view(), cells.data());
      sum_rows(runtime_, packed_, NodeCells<Node>{raw(cells), rows.cols}, {0, n, raw(out) + first, out.stride});
    }
  }

  CudaRuntime& runtime_;
  PackedWalk<Node, Sum> packed_;
};

template <class Sum, class X>
std::unique_ptr<ReadyWalk> ready_walk(CudaRuntime& runtime, const WalkTrees& trees) {
  if constexpr (std::is_same_v<X, float>)
    if (PackedWalk<NarrowWalkNode, Sum>::fits(trees))
      return std::make_unique<CudaWalk<NarrowWalkNode, Sum, X>>(runtime, trees);
  if (!PackedWalk<WideWalkNode, Sum>::fits(trees))
    throw schema::Error(schema::ErrorCode::kInvalidValue, "the trees have " + std::to_string(trees.n_cols) +
                                                              " columns, must be fewer than 536870912 on this device");
  return std::make_unique<CudaWalk<WideWalkNode, Sum, X>>(runtime, trees);
}

}   // namespace

std::unique_ptr<ReadyWalk> make_ready_walk(CudaRuntime& runtime, const WalkTrees& trees, WalkCells cells) {
  const bool are_floats = cells == WalkCells::kFloat32;
  if (trees.is_float32 && !are_floats)
    throw schema::Error(schema::ErrorCode::kInternal, "trees of floats were asked for rows of doubles");
  if (trees.is_float32) return ready_walk<float, float>(runtime, trees);
  return are_floats ? ready_walk<double, float>(runtime, trees) : ready_walk<double, double>(runtime, trees);
}

}   // namespace kedge::engine
