// Running rows through a forest on the device: a thread per row, trees in order, so that the sums are those of the CPU.
#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/trees/trees_device.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;

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
  return {f.tree_offset.data(), f.feature.data(), f.left.data(), f.right.data(), f.bin.data(), f.threshold.data(), f.value.data(), f.mean.data(),
          f.n_trees, f.n_classes};
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

// Reads about depth x 16 bytes a row and tree at random, so it is bound by latency and L2: about 2e10 node visits a second on an H100.
// drawn: null, or n_trees x n; trees that drew the row are passed over and the sums stay sums.
template <class Rows>
__global__ void forest_sums(NodesView nodes, Rows rows, std::int64_t n, const std::uint8_t* drawn, double* out, std::int64_t stride) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double* sums = out + i * stride;
  const std::int32_t n_outputs = nodes.n_classes > 0 ? nodes.n_classes : 1;
  if (!drawn)
    for (std::int32_t c = 0; c < n_outputs; ++c) sums[c] = 0;
  for (std::int64_t t = 0; t < nodes.n_trees; ++t) {
    if (drawn && drawn[t * n + i]) continue;
    auto node = static_cast<std::int32_t>(nodes.tree_offset[t]);
    while (nodes.feature[node] >= 0) node = rows.goes_left(nodes, i, node) ? nodes.left[node] : nodes.right[node];
    if (nodes.n_classes == 0) sums[0] += nodes.mean[node];
    const double* share = nodes.value + static_cast<std::int64_t>(node) * nodes.n_classes;
    for (std::int32_t c = 0; c < nodes.n_classes; ++c) sums[c] += share[c];
  }
  if (drawn) return;
  for (std::int32_t c = 0; c < n_outputs; ++c) sums[c] /= static_cast<double>(nodes.n_trees);
}

template <class T>
Array<T> upload(CudaRuntime& runtime, const std::vector<T>& host) {
  return Array<T>(runtime, std::span<const T>(host));
}

template <class Rows>
void sum_rows(CudaRuntime& runtime, const DeviceForest& forest, const Rows& rows, const std::uint8_t* drawn, MatrixView<double> out) {
  KEDGE_LAUNCH(runtime, (forest_sums<Rows>), blocks_for(out.rows, kThreads), kThreads, 0, view_of(forest), rows, out.rows, drawn,
               out.data, out.stride);
}

}  // namespace

DeviceForest::DeviceForest(CudaRuntime& runtime, const Forest& forest)
    : tree_offset(upload(runtime, forest.tree_offset)), feature(upload(runtime, forest.feature)), left(upload(runtime, forest.left)),
      right(upload(runtime, forest.right)), bin(upload(runtime, forest.bin)), threshold(upload(runtime, forest.threshold)),
      value(upload(runtime, forest.value)), mean(upload(runtime, forest.mean)), n_trees(static_cast<std::int64_t>(forest.tree_offset.size()) - 1),
      n_classes(forest.n_classes) {}

void predict_codes(CudaRuntime& runtime, const DeviceForest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                   MatrixView<double> out) {
  sum_rows(runtime, forest, CodeRows{table.codes.data(), table.n_rows, rows.empty() ? nullptr : rows.data}, nullptr, out);
}

template <class T>
void predict_values(CudaRuntime& runtime, const DeviceForest& forest, MatrixView<const T> X, MatrixView<double> out) {
  sum_rows(runtime, forest, ValueRows<T>{X.data, X.stride}, nullptr, out);
}
template void predict_values<float>(CudaRuntime&, const DeviceForest&, MatrixView<const float>, MatrixView<double>);
template void predict_values<double>(CudaRuntime&, const DeviceForest&, MatrixView<const double>, MatrixView<double>);

void add_out_of_bag(CudaRuntime& runtime, const DeviceForest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                    const std::uint8_t* drawn, MatrixView<double> sums) {
  sum_rows(runtime, forest, CodeRows{table.codes.data(), table.n_rows, rows.empty() ? nullptr : rows.data}, drawn, sums);
}

}  // namespace kedge::engine
