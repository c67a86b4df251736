// The CPU body of the tree operations: one tree or block of rows per thread.
#include "engine/backend/cpu/trees/trees.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "engine/backend/cpu/trees/trees_grow.h"
#include "engine/backend/cpu/trees/trees_predict.h"
#include "engine/backend/cpu/trees/trees_row_forms.h"
#include "engine/backend/host/host_grower.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/tree_bin.h"
#include "engine/backend/raw.h"
#include "engine/backend/trees_factory.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

// Packs the forest for values once, with the first prediction of some; for bytes with each.
class CpuReadyForest final : public ReadyForest {
 public:
  CpuReadyForest(const Forest& forest, int n_threads) : forest_(forest), n_threads_(n_threads) {}
  void predict(const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> out) const override {
    predict_codes(forest_, table, rows, out, n_threads_);
  }
  void predict(MatrixView<const float> X, MatrixView<double> out) const override {
    on_values().predict(X, out, n_threads_);
  }
  void predict(MatrixView<const double> X, MatrixView<double> out) const override {
    on_values().predict(X, out, n_threads_);
  }

 private:
  const ValueForest& on_values() const {
    std::call_once(packed_, [&] { values_.emplace(forest_); });
    return *values_;
  }

  const Forest& forest_;
  int n_threads_;
  mutable std::once_flag packed_;
  mutable std::optional<ValueForest> values_;
};

class CpuTrees final : public TreeOps {
 public:
  CpuTrees(Memory& memory, int n_threads) : memory_(memory), n_threads_(std::max(1, n_threads)) {}

  BinnedTable bin(MatrixView<const float> X) override { return bin_any(X); }
  BinnedTable bin(MatrixView<const double> X) override { return bin_any(X); }

  Forest grow(const BinnedTable& table, VectorView<const std::int32_t> rows, const TreeTarget& target, const ForestOptions& options,
              std::stop_token stop, const TreeProgress& progress) override {
    if (needs_host_grower(target, options)) {
      const HostColumns columns{.n_table = table.n_rows,
                                .n_cols = table.n_cols,
                                .edges = &table.edges,
                                .codes = raw(table.codes),
                                .row_codes = raw(table.row_codes),
                                .row_stride = table.row_stride};
      const std::int64_t n = rows.empty() ? table.n_rows : rows.size;
      return grow_on_host({columns, rows.empty() ? nullptr : raw(rows), n, target, options, std::move(stop)},
                          n_threads_, progress);
    }
    const ForestInput input{table, rows, target.codes, target.n_classes, options, std::move(stop)};
    check(input);
    std::vector<TreeGrower> growers;
    for (int i = 0; i < std::min<std::int64_t>(n_threads_, options.n_trees); ++i) growers.emplace_back(input);
    std::vector<Forest> trees(static_cast<std::size_t>(options.n_trees));
    std::atomic<std::int64_t> done{0};
    parallel_tasks(n_threads_, options.n_trees, [&](std::int64_t tree, int worker) {
      trees[tree] = growers[worker].grow(options.first_tree + tree);
      const std::int64_t so_far = ++done;
      if (worker == 0 && progress && so_far < options.n_trees) progress(so_far, options.n_trees);
    });
    if (progress) progress(options.n_trees, options.n_trees);
    return join_trees(std::move(trees), target.n_classes, table.n_cols, n_threads_);
  }
  Forest grow_exact(MatrixView<const float> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop) override {
    return grow_exact_on_host(X, target, options, std::move(stop), n_threads_);
  }
  Forest grow_exact(MatrixView<const double> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop) override {
    return grow_exact_on_host(X, target, options, std::move(stop), n_threads_);
  }

  OutOfBag out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                      const ForestOptions& options) override {
    return predict_out_of_bag(forest, table, rows, options, n_threads_);
  }

  std::unique_ptr<ReadyForest> prepare(const Forest& forest) override {
    return std::make_unique<CpuReadyForest>(forest, n_threads_);
  }

 private:
  template <class T>
  BinnedTable bin_any(MatrixView<const T> X) {
    BinnedTable table{
        .n_rows = X.rows, .n_cols = X.cols, .codes = large_array<std::uint8_t>(memory_, X.rows * X.cols)};
    table.edges = bin_columns(X, raw(table.codes), n_threads_);
    add_row_forms(table, memory_, n_threads_);
    return table;
  }

  static void check(const ForestInput& input) {
    using enum schema::ErrorCode;
    require(input.n_rows() > 0 && input.table.n_cols > 0, kBadData,
            "a forest needs rows and columns, got {} x {}", input.n_rows(), input.table.n_cols);
    require(input.n_rows() <= 0xffffffffLL && input.table.n_rows <= 0x7fffffffLL, kBadData,
            "a forest on {} rows, at most 2147483647 are possible", input.n_rows());
    require(input.n_classes <= 65536, kBadData, "a forest for {} classes, at most 65536 are possible",
            input.n_classes);
  }

  Memory& memory_;
  int n_threads_;
};

}  // namespace

std::unique_ptr<TreeOps> make_cpu_trees(Memory& memory) {
  return make_cpu_trees(memory, omp_get_max_threads());
}
std::unique_ptr<TreeOps> make_cpu_trees(Memory& memory, int n_threads) {
  return std::make_unique<CpuTrees>(memory, n_threads);
}

}  // namespace kedge::engine
