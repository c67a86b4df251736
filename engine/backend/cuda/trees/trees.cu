// The CUDA body of the tree operations: bins and grows batches of trees on the device. Absolute errors, exact cuts,
// scikit-learn's draws, and weighted or random forests of more classes than shared memory holds grow on the host.
#include <algorithm>
#include <string>

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/trees/grown_trees.h"
#include "engine/backend/cuda/trees/ready_boost.h"
#include "engine/backend/cuda/trees/ready_shap.h"
#include "engine/backend/cuda/trees/ready_trees.h"
#include "engine/backend/cuda/trees/ready_walk.h"
#include "engine/backend/cuda/trees/trees_device.h"
#include "engine/backend/host/host_grower.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/tree_bin.h"
#include "engine/backend/raw.h"
#include "engine/backend/trees_factory.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

class CudaTrees final : public TreeOps, public GrownForestOps, public TreeWalkOps, public TreeShapOps, public BoostOps {
 public:
  CudaTrees(CudaRuntime& runtime, DeviceLibraries& libraries) : runtime_(runtime), libraries_(libraries) {}

  BinnedTable bin(MatrixView<const float> X) override { return bin_any(X); }
  BinnedTable bin(MatrixView<const double> X) override { return bin_any(X); }

  Forest grow(const BinnedTable& table, VectorView<const std::int32_t> rows, const TreeTarget& target, const ForestOptions& options,
              std::stop_token stop, const TreeProgress& progress) override {
    ForestInput in(table, rows, target, options, std::move(stop));
    const bool is_there = grows_on_device(runtime_, in.host);
    if (!is_there || !draws_on_device(in.host)) in.bring(*this);
    if (!is_there) return grow_on_cores(table, in.host, progress);
    check(in.host.n_rows, table.n_cols);
    const std::int64_t batch = trees_at_once(in.host);
    std::vector<Forest> trees;
    for (std::int64_t first = 0; first < options.n_trees; first += batch) {
      const std::int64_t count = std::min(batch, options.n_trees - first);
      trees.push_back(grow_batch(runtime_, in.device(), options.first_tree + first, count, false)->bring());
      if (progress) progress(first + count, options.n_trees);
    }
    return join_trees(std::move(trees), target.n_classes, table.n_cols, tree_threads());
  }
  std::unique_ptr<GrownForest> grow_there(const BinnedTable& table, VectorView<const std::int32_t> rows,
                                          const TreeTarget& target, const ForestOptions& options, std::stop_token stop,
                                          const TreeProgress& progress) override {
    ForestInput in(table, rows, target, options, std::move(stop));
    check(in.host.n_rows, table.n_cols);
    if (!grows_on_device(runtime_, in.host) || options.n_trees > trees_at_once(in.host)) return nullptr;
    if (!draws_on_device(in.host)) in.bring(*this);
    auto grown = grow_batch(runtime_, in.device(), options.first_tree, options.n_trees, true);
    if (progress) progress(options.n_trees, options.n_trees);
    return grown;
  }
  Forest grow_exact(MatrixView<const float> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop) override {
    return grow_exact_there(X, target, options, std::move(stop));
  }
  Forest grow_exact(MatrixView<const double> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop) override {
    return grow_exact_there(X, target, options, std::move(stop));
  }

  OutOfBag out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                      const ForestOptions& options) override {
    const std::int64_t n = rows.empty() ? table.n_rows : rows.size;
    const auto drawn = draw_trees(options, options.first_tree, forest.n_trees(), n);
    Matrix<double> sums(runtime_, n, forest.n_outputs());
    OutOfBag result{.n_trees = std::vector<std::int32_t>(static_cast<std::size_t>(n))};
    std::vector<std::uint8_t> seen;
    for (const auto& counts : drawn)
      for (std::size_t i = 0; i < counts.size(); ++i) seen.push_back(counts[i] > 0), result.n_trees[i] += counts[i] == 0;
    const Array<std::uint8_t> device(runtime_, std::span<const std::uint8_t>(seen));
    ReadyTrees(runtime_, forest).sum_codes(table, rows, raw(device), sums.view());
    result.sums = sums.to_host();
    return result;
  }

  std::unique_ptr<ReadyForest> prepare(const Forest& forest) override {
    return std::make_unique<ReadyTrees>(runtime_, forest);
  }

  std::unique_ptr<ReadyWalk> prepare_walk(const WalkTrees& trees, WalkCells cells) override {
    return make_ready_walk(runtime_, trees, cells);
  }
  std::unique_ptr<ReadyShap> prepare_shap(const ShapTrees& trees) override { return make_ready_shap(runtime_, trees); }

  bool takes(BoostLoss loss, std::int64_t n_rows, std::int64_t n_cols, const BoostRules& rules) const override {
    return takes_boosting(runtime_, loss, n_rows, n_cols, rules);
  }
  BoostCodes bin(const BoostCells<float>& cells, const BoostBinning& binning) override {
    return bin_boosting(runtime_, libraries_, cells, binning);
  }
  BoostCodes bin(const BoostCells<double>& cells, const BoostBinning& binning) override {
    return bin_boosting(runtime_, libraries_, cells, binning);
  }
  BoostCodes code(const BoostCells<float>& cells, const std::vector<BoostColumn>& columns) override {
    return code_boosting(runtime_, cells, columns);
  }
  BoostCodes code(const BoostCells<double>& cells, const std::vector<BoostColumn>& columns) override {
    return code_boosting(runtime_, cells, columns);
  }
  std::unique_ptr<BoostRun> start(BoostFit fit) override { return start_boosting(runtime_, std::move(fit)); }

 private:
  // What a forest grows from, on the device, and on the host where that draws the rows.
  struct ForestInput {
    const BinnedTable& table;
    VectorView<const std::int32_t> rows;
    VectorView<const std::int32_t> classes;
    HostForestInput host;
    std::vector<std::int32_t> host_rows, host_classes;

    ForestInput(const BinnedTable& table, VectorView<const std::int32_t> rows, const TreeTarget& target,
                const ForestOptions& options, std::stop_token stop)
        : table(table),
          rows(rows),
          classes(target.codes),
          host{{.n_table = table.n_rows, .n_cols = table.n_cols, .edges = &table.edges},
               nullptr,
               rows.empty() ? table.n_rows : rows.size,
               target,
               options,
               std::move(stop)} {}
    void bring(CudaTrees& trees) {
      host_rows = trees.to_host(rows), host_classes = trees.to_host(classes);
      host.rows = rows.empty() ? nullptr : host_rows.data(), host.target = on_host(host.target, host_classes);
    }
    DeviceForestInput device() const { return {table, host, rows, classes}; }
  };

  template <class T>
  BinnedTable bin_any(MatrixView<const T> X) {
    BinnedTable table{.n_rows = X.rows, .n_cols = X.cols};
    if (X.size() > 0 && bin_on_device(runtime_, libraries_, X, table)) return table;
    const std::vector<T> values = values_of(X);   // without values, or with NaN, which the host names
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(X.size()));
    table.edges = bin_columns(MatrixView<const T>(values.data(), X.rows, X.cols, X.stride), codes.data(), tree_threads());
    table.codes = Array<std::uint8_t>(runtime_, std::span<const std::uint8_t>(codes));
    return table;
  }

  template <class U>
  std::vector<U> to_host(VectorView<const U> device) {
    std::vector<U> host(static_cast<std::size_t>(device.size));
    if (!host.empty()) runtime_.to_host(host.data(), raw(device), host.size() * sizeof(U));
    return host;
  }

  static TreeTarget on_host(TreeTarget target, const std::vector<std::int32_t>& classes) {
    target.codes = {classes.data(), static_cast<std::int64_t>(classes.size())};
    return target;
  }

  // On the host, from copies of the codes that the device holds.
  Forest grow_on_cores(const BinnedTable& table, HostForestInput& input, const TreeProgress& progress) {
    const std::vector<std::uint8_t> codes = to_host(table.codes.view());
    std::vector<std::uint8_t> row_codes(codes.size());
    for (std::int64_t j = 0; j < table.n_cols; ++j)
      for (std::int64_t i = 0; i < table.n_rows; ++i) row_codes[i * table.n_cols + j] = codes[j * table.n_rows + i];
    input.columns.codes = codes.data(), input.columns.row_codes = row_codes.data(), input.columns.row_stride = table.n_cols;
    return grow_on_host(input, tree_threads(), progress);
  }

  template <class T>
  Forest grow_exact_there(MatrixView<const T> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop) {
    const std::vector<T> values = values_of(X);
    const std::vector<std::int32_t> host_classes = to_host(target.codes);
    return grow_exact_on_host(MatrixView<const T>(values.data(), X.rows, X.cols, X.stride), on_host(target, host_classes), options,
                              std::move(stop), tree_threads());
  }

  template <class T>
  std::vector<T> values_of(MatrixView<const T> X) {
    std::vector<T> values(static_cast<std::size_t>(X.rows > 0 ? (X.rows - 1) * X.stride + X.cols : 0));
    if (!values.empty()) runtime_.to_host(values.data(), raw(X), values.size() * sizeof(T));
    return values;
  }

  static void check(std::int64_t rows, std::int64_t cols) {
    if (rows > 0 && cols > 0) return;
    throw schema::Error(schema::ErrorCode::kBadData,
                        "a forest needs rows and columns, got " + std::to_string(rows) + " x " + std::to_string(cols));
  }

  CudaRuntime& runtime_;
  DeviceLibraries& libraries_;
};

}  // namespace

std::unique_ptr<TreeOps> make_cuda_trees(CudaRuntime& runtime, DeviceLibraries& libraries) {
  return std::make_unique<CudaTrees>(runtime, libraries);
}

}  // namespace kedge::engine
