// The CUDA body of the tree operations: bins on the host, grows batches of trees on the device.
#include <algorithm>
#include <string>
#include <thread>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/trees_device.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/tree_bin.h"
#include "engine/backend/trees_factory.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBatchRows = 64 << 20, kBatchTrees = 256;
constexpr int kMostThreads = 8;

int host_threads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads); }

class CudaTrees final : public TreeOps {
 public:
  explicit CudaTrees(CudaRuntime& runtime) : runtime_(runtime) {}

  BinnedTable bin(MatrixView<const float> X) override { return bin_any(X); }
  BinnedTable bin(MatrixView<const double> X) override { return bin_any(X); }

  Forest grow(const BinnedTable& table, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y, std::int32_t n_classes,
              const ForestOptions& options, std::stop_token stop, const std::function<void(std::int64_t, std::int64_t)>& progress,
              std::vector<double>* oob_votes) override {
    const DeviceForestInput input{table, rows, to_host(rows), to_host(y), n_classes, options};
    check(input);
    const std::int64_t n = input.n_rows(), batch = std::clamp<std::int64_t>(kBatchRows / n, 1, kBatchTrees);
    Matrix<double> votes(runtime_, oob_votes ? n : 0, n_classes);
    votes.zero();
    std::vector<Forest> trees;
    for (std::int64_t first = 0; first < options.n_trees; first += batch) {
      const auto drawn = draw(options, first, std::min(batch, options.n_trees - first), n);
      std::vector<Forest> grown = grow_batch(runtime_, input, first, drawn, stop);
      if (oob_votes) add_votes(input, join_trees(grown, n_classes, table.n_cols), drawn, votes.view());
      for (Forest& tree : grown) trees.push_back(std::move(tree));
      if (progress) progress(static_cast<std::int64_t>(trees.size()), options.n_trees);
    }
    if (oob_votes) *oob_votes = votes.to_host();
    return join_trees(std::move(trees), n_classes, table.n_cols);
  }

  void predict(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> proba) override {
    predict_codes(runtime_, DeviceForest(runtime_, forest), table, rows, proba);
  }
  void predict(const Forest& forest, MatrixView<const float> X, MatrixView<double> proba) override {
    predict_values(runtime_, DeviceForest(runtime_, forest), X, proba);
  }
  void predict(const Forest& forest, MatrixView<const double> X, MatrixView<double> proba) override {
    predict_values(runtime_, DeviceForest(runtime_, forest), X, proba);
  }

 private:
  template <class T>
  BinnedTable bin_any(MatrixView<const T> X) {
    std::vector<T> values(static_cast<std::size_t>(X.rows > 0 ? (X.rows - 1) * X.stride + X.cols : 0));
    if (!values.empty()) runtime_.to_host(values.data(), X.data, values.size() * sizeof(T));
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(X.size()));
    BinnedTable table{.n_rows = X.rows, .n_cols = X.cols};
    table.edges = bin_columns(MatrixView<const T>(values.data(), X.rows, X.cols, X.stride), codes.data(), host_threads());
    table.codes = Array<std::uint8_t>(runtime_, std::span<const std::uint8_t>(codes));
    return table;
  }

  std::vector<std::int32_t> to_host(VectorView<const std::int32_t> device) {
    std::vector<std::int32_t> host(static_cast<std::size_t>(device.size));
    if (!host.empty()) runtime_.to_host(host.data(), device.data, host.size() * sizeof(std::int32_t));
    return host;
  }

  static std::vector<std::vector<std::uint32_t>> draw(const ForestOptions& options, std::int64_t first, std::int64_t count, std::int64_t n) {
    std::vector<std::vector<std::uint32_t>> drawn(static_cast<std::size_t>(count));
    parallel_tasks(host_threads(), count, [&](std::int64_t t, int) { draw_rows(options, first + t, n, drawn[t]); });
    return drawn;
  }

  void add_votes(const DeviceForestInput& input, const Forest& forest, const std::vector<std::vector<std::uint32_t>>& drawn,
                 MatrixView<double> votes) {
    std::vector<std::uint8_t> seen;
    for (const auto& counts : drawn)
      for (const std::uint32_t count : counts) seen.push_back(count > 0);
    const Array<std::uint8_t> device(runtime_, std::span<const std::uint8_t>(seen));
    add_out_of_bag(runtime_, DeviceForest(runtime_, forest), input.table, input.rows, device.data(), votes);
  }

  static void check(const DeviceForestInput& input) {
    if (input.n_rows() > 0 && input.table.n_cols > 0) return;
    throw schema::Error(schema::ErrorCode::kBadData, "a forest needs rows and columns, got " + std::to_string(input.n_rows()) + " x " +
                        std::to_string(input.table.n_cols));
  }

  CudaRuntime& runtime_;
};

}  // namespace

std::unique_ptr<TreeOps> make_cuda_trees(CudaRuntime& runtime) { return std::make_unique<CudaTrees>(runtime); }

}  // namespace kedge::engine
