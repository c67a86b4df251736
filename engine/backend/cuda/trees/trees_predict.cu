// Running rows through a forest on the device: a thread per row and tree finds the leaf, then a thread per output adds
// up the trees in order, so that the sums are those of the CPU.
#include <algorithm>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/trees/trees_device.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMostLeaves = std::int64_t{1} << 24;   // found by one launch

struct NodesView {
  const std::int64_t* tree_offset;
  const std::int32_t *feature, *left, *right;
  const std::uint8_t* bin;
  const double* threshold;
  const double* value;
  const double* mean;
  std::int64_t n_trees;
  std::int32_t n_classes;
};

NodesView view_of(const DeviceForest& f) {
  return {raw(f.tree_offset), raw(f.feature), raw(f.left), raw(f.right), raw(f.bin),
          raw(f.threshold),   raw(f.value),   raw(f.mean), f.n_trees,    f.n_classes};
}

struct CodeRows {
  const std::uint8_t* codes;
  std::int64_t n_table;
  const std::int32_t* rows;   // null: all
  __device__ bool goes_left(const NodesView& nodes, std::int64_t i, std::int32_t node) const {
    return codes[nodes.feature[node] * n_table + (rows ? rows[i] : i)] <= nodes.bin[node];
  }
};

template <class T>
struct ValueRows {
  const T* X;
  std::int64_t stride;
  __device__ bool goes_left(const NodesView& nodes, std::int64_t i, std::int32_t node) const {
    return static_cast<double>(X[i * stride + nodes.feature[node]]) <= nodes.threshold[node];
  }
};

// The leaf that each row reaches in each tree, leaves[t * n + i]; -1 where the tree drew the row. Reads about depth x
// 16 bytes at random, so it is bound by latency and L2: about 2e10 node visits a second on an H100.
template <class Rows>
__global__ void find_leaves(NodesView nodes, Rows rows, std::int64_t first, std::int64_t n, const std::uint8_t* drawn,
                            std::int64_t n_all, std::int32_t* leaves) {
  const std::int64_t i = own_item(), t = block_y();
  if (i >= n || t >= nodes.n_trees) return;
  std::int32_t node = -1;
  if (!drawn || !drawn[t * n_all + first + i])
    for (node = static_cast<std::int32_t>(nodes.tree_offset[t]); nodes.feature[node] >= 0;) {
      const std::int32_t left = nodes.left[node], right = nodes.right[node];   // on their way while the cell is read
      node = rows.goes_left(nodes, first + i, node) ? left : right;
    }
  leaves[t * n + i] = node;
}

// Each row's outputs, summed over its leaves in the order of the trees, an output a thread; means unless sums are added
// to.
static __global__ void sum_leaves(NodesView nodes, const std::int32_t* leaves, std::int64_t n, bool adds, double* out,
                                  std::int64_t stride) {
  const std::int32_t n_outputs = nodes.n_classes > 0 ? nodes.n_classes : 1;
  const std::int64_t item = own_item(), i = item / n_outputs, c = item % n_outputs;
  if (i >= n) return;
  const double* const values = nodes.n_classes > 0 ? nodes.value : nodes.mean;
  double sum = adds ? out[i * stride + c] : 0;
  for (std::int64_t t = 0; t < nodes.n_trees; ++t) {
    const std::int32_t leaf = leaves[t * n + i];
    if (leaf >= 0) sum += values[std::int64_t{leaf} * n_outputs + c];
  }
  out[i * stride + c] = adds ? sum : sum / static_cast<double>(nodes.n_trees);
}

template <class T>
Array<T> upload(CudaRuntime& runtime, const std::vector<T>& host) {
  return Array<T>(runtime, std::span<const T>(host));
}

// drawn: null, or n_trees x rows; trees that drew a row are then passed over, and what is there is added to.
template <class Rows>
void sum_rows(CudaRuntime& runtime, const DeviceForest& forest, const Rows& rows, const std::uint8_t* drawn, MatrixView<double> out) {
  const std::int64_t chunk = std::clamp<std::int64_t>(kMostLeaves / std::max<std::int64_t>(1, forest.n_trees), 1,
                                                      std::max<std::int64_t>(1, out.rows));
  Array<std::int32_t> leaves(runtime, chunk * forest.n_trees);
  for (std::int64_t first = 0; first < out.rows; first += chunk) {
    const std::int64_t n = std::min(chunk, out.rows - first);
    KEDGE_LAUNCH(runtime, find_leaves<Rows>,
                 tall_grid(runtime, blocks_for(n, kThreads), static_cast<unsigned>(forest.n_trees)), kThreads, 0,
                 view_of(forest), rows, first, n, drawn, out.rows, leaves.data());
    KEDGE_LAUNCH(runtime, sum_leaves, blocks_for(n * std::max(1, forest.n_classes), kThreads), kThreads, 0,
                 view_of(forest), leaves.data(), n, drawn != nullptr, raw(out) + first * out.stride, out.stride);
  }
}

}  // namespace

DeviceForest::DeviceForest(CudaRuntime& runtime, const Forest& forest)
    : tree_offset(upload(runtime, forest.tree_offset)), feature(upload(runtime, forest.feature)), left(upload(runtime, forest.left)),
      right(upload(runtime, forest.right)), bin(upload(runtime, forest.bin)), threshold(upload(runtime, forest.threshold)),
      value(upload(runtime, forest.value)), mean(upload(runtime, forest.mean)), n_trees(static_cast<std::int64_t>(forest.tree_offset.size()) - 1),
      n_classes(forest.n_classes) {}

void predict_codes(CudaRuntime& runtime, const DeviceForest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                   MatrixView<double> out) {
  sum_rows(runtime, forest, CodeRows{raw(table.codes), table.n_rows, rows.empty() ? nullptr : raw(rows)}, nullptr, out);
}

template <class T>
void predict_values(CudaRuntime& runtime, const DeviceForest& forest, MatrixView<const T> X, MatrixView<double> out) {
  sum_rows(runtime, forest, ValueRows<T>{raw(X), X.stride}, nullptr, out);
}
template void predict_values<float>(CudaRuntime&, const DeviceForest&, MatrixView<const float>, MatrixView<double>);
template void predict_values<double>(CudaRuntime&, const DeviceForest&, MatrixView<const double>, MatrixView<double>);

void add_out_of_bag(CudaRuntime& runtime, const DeviceForest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                    const std::uint8_t* drawn, MatrixView<double> sums) {
  sum_rows(runtime, forest, CodeRows{raw(table.codes), table.n_rows, rows.empty() ? nullptr : raw(rows)}, drawn, sums);
}

}  // namespace kedge::engine
