// The CPU body of the tree operations: one tree or block of rows per thread.
#include "engine/backend/cpu/trees.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "engine/backend/host/tree_bin.h"
#include "engine/backend/host/huge_pages.h"
#include "engine/backend/cpu/trees_grow.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/cpu/trees_predict.h"
#include "engine/backend/cpu/trees_rows.h"
#include "engine/backend/trees_factory.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr double kListedShare = 0.5;   // rows off the common bin, up to which listing them pays

template <class U>
Array<U> large_array(Memory& memory, std::int64_t size) {
  Array<U> array(memory, size);
  advise_huge_pages(array.data(), size * static_cast<std::int64_t>(sizeof(U)));
  return array;
}

// The most common bin of each column; returns the share of all cells that are in other bins.
double find_common_bins(BinnedTable& table, int n_threads) {
  table.common.assign(static_cast<std::size_t>(table.n_cols), 0);
  std::vector<std::int64_t> most(table.common.size());
  parallel_tasks(n_threads, table.n_cols, [&](std::int64_t col, int) {
    std::array<std::array<std::uint32_t, 256>, 4> count{};   // four, so that equal neighbours do not wait for each other
    const std::uint8_t* codes = table.codes.data() + col * table.n_rows;
    for (std::int64_t i = 0; i < table.n_rows; ++i) ++count[i & 3][codes[i]];
    for (int b = 0; b < 256; ++b) count[0][b] += count[1][b] + count[2][b] + count[3][b];
    const auto top = std::max_element(count[0].begin(), count[0].end());
    table.common[col] = static_cast<std::int32_t>(top - count[0].begin());
    most[col] = *top;
  });
  const auto common = std::accumulate(most.begin(), most.end(), std::int64_t{0});
  return 1.0 - static_cast<double>(common) / (static_cast<double>(table.n_rows) * static_cast<double>(table.n_cols));
}

// Copies 64 x 64 codes into row-major order.
void turn_tile(BinnedTable& table, std::int64_t first_row, std::int64_t first_col) {
  const std::int64_t n_rows = std::min<std::int64_t>(64, table.n_rows - first_row);
  const std::int64_t n_cols = std::min<std::int64_t>(64, table.n_cols - first_col);
  for (std::int64_t c = 0; c < n_cols; ++c) {
    const std::uint8_t* codes = table.codes.data() + (first_col + c) * table.n_rows + first_row;
    std::uint8_t* out = table.row_codes.data() + first_row * table.row_stride + first_col + c;
    for (std::int64_t r = 0; r < n_rows; ++r) out[r * table.row_stride] = codes[r];
  }
}

// Writes the record of a row to `out`, which is zero and has room for the longest; returns its length in words.
std::int64_t write_record(const BinnedTable& table, const RecordLayout& layout, std::int64_t row, const std::uint8_t* common,
                          std::uint64_t* out) {
  const std::uint8_t* codes = table.row_codes.data() + row * table.row_stride;
  auto* bytes = reinterpret_cast<std::uint8_t*>(out);
  std::uint8_t* const first = bytes + layout.codes;
  std::uint8_t *next = first, *group = first;
  for (std::int64_t f = 0; f < table.n_cols; ++f) {
    if (f % RecordLayout::kGroup == 0) {
      group = next;
      const auto start = static_cast<std::uint16_t>(group - first);
      __builtin_memcpy(bytes + layout.starts + f / RecordLayout::kGroup * 2, &start, sizeof start);
    }
    if (f % RecordLayout::kBlock == 0) bytes[layout.ranks + f / RecordLayout::kBlock] = static_cast<std::uint8_t>(next - group);
    const bool uncommon = codes[f] != common[f];
    *next = codes[f];
    next += uncommon;
    out[f / 64] |= std::uint64_t{uncommon} << (f % 64);
  }
  return (next + 1 - bytes + 7) / 8;   // one byte more may be read
}

constexpr std::int64_t kRecordSlack = 8;         // words that copies of a cache line may read beyond the last
constexpr std::int64_t kRecordColumns = 0xffff;   // starts within a record have 16 bits

// Every thread writes the records of its blocks of rows with gaps for the longest possible; then they move together.
void add_records(BinnedTable& table, Memory& memory, int n_threads) {
  constexpr std::int64_t kBlockRows = 1024;
  const RecordLayout layout(table.n_cols);
  const std::vector<std::uint8_t> common(table.common.begin(), table.common.end());
  const std::int64_t longest = (layout.codes + table.n_cols + 16) / 8;
  const std::int64_t blocks = (table.n_rows + kBlockRows - 1) / kBlockRows;
  std::vector<std::vector<std::uint64_t>> written(static_cast<std::size_t>(blocks));
  table.record_of.resize(static_cast<std::size_t>(table.n_rows) + 1);
  parallel_tasks(n_threads, blocks, [&](std::int64_t block, int) {
    std::vector<std::uint64_t> scratch(static_cast<std::size_t>(longest * kBlockRows));
    std::int64_t used = 0;
    for (std::int64_t row = block * kBlockRows; row < std::min(table.n_rows, (block + 1) * kBlockRows); ++row) {
      table.record_of[row] = static_cast<std::uint32_t>(used);
      used += write_record(table, layout, row, common.data(), scratch.data() + used);
    }
    written[block].assign(scratch.begin(), scratch.begin() + used);
  });
  std::vector<std::int64_t> begin{0};
  for (const auto& words : written) begin.push_back(begin.back() + static_cast<std::int64_t>(words.size()));
  table.records = large_array<std::uint64_t>(memory, begin.back() + kRecordSlack);
  parallel_tasks(n_threads, blocks, [&](std::int64_t block, int) {
    std::copy(written[block].begin(), written[block].end(), table.records.data() + begin[block]);
    for (std::int64_t row = block * kBlockRows; row < std::min(table.n_rows, (block + 1) * kBlockRows); ++row)
      table.record_of[row] += static_cast<std::uint32_t>(begin[block]);
  });
  table.record_of[table.n_rows] = static_cast<std::uint32_t>(begin.back());
}

void add_row_forms(BinnedTable& table, Memory& memory, int n_threads) {
  if (table.n_rows == 0 || table.n_cols == 0) return;
  const double uncommon = find_common_bins(table, n_threads);
  table.row_stride = (table.n_cols + 63) / 64 * 64;
  table.row_codes = large_array<std::uint8_t>(memory, table.n_rows * table.row_stride);
  parallel_tasks(n_threads, (table.n_rows + 63) / 64, [&](std::int64_t block, int) {
    for (std::int64_t col = 0; col < table.n_cols; col += 64) turn_tile(table, block * 64, col);
  });
  const double words = static_cast<double>(table.n_rows) * (uncommon * static_cast<double>(table.n_cols) / 8 + static_cast<double>(table.n_cols) / 40 + 4);
  if (uncommon <= kListedShare && table.n_cols <= kRecordColumns && words < 4e9) add_records(table, memory, n_threads);
  else std::fill(table.common.begin(), table.common.end(), kNoCommonBin);
}

class CpuTrees final : public TreeOps {
 public:
  CpuTrees(Memory& memory, int n_threads) : memory_(memory), n_threads_(std::max(1, n_threads)) {}

  BinnedTable bin(MatrixView<const float> X) override { return bin_any(X); }
  BinnedTable bin(MatrixView<const double> X) override { return bin_any(X); }

  Forest grow(const BinnedTable& table, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y, std::int32_t n_classes,
              const ForestOptions& options, std::stop_token stop, const std::function<void(std::int64_t, std::int64_t)>& progress,
              std::vector<double>* oob_votes) override {
    const ForestInput input{table, rows, y, n_classes, options, std::move(stop)};
    check(input);
    std::vector<TreeGrower> growers;
    for (int i = 0; i < n_threads_; ++i) growers.emplace_back(input);
    std::vector<Forest> trees(static_cast<std::size_t>(options.n_trees));
    std::atomic<std::int64_t> done{0};
    parallel_tasks(n_threads_, options.n_trees, [&](std::int64_t tree, int worker) {
      trees[tree] = growers[worker].grow(tree);
      const std::int64_t so_far = ++done;
      if (worker == 0 && progress && so_far < options.n_trees) progress(so_far, options.n_trees);
    });
    if (progress) progress(options.n_trees, options.n_trees);
    Forest forest = join_trees(std::move(trees), n_classes, table.n_cols, n_threads_);
    if (oob_votes) predict_out_of_bag(forest, table, rows, options, *oob_votes, n_threads_);
    return forest;
  }

  void predict(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> proba) override {
    predict_codes(forest, table, rows, proba, n_threads_);
  }
  void predict(const Forest& forest, MatrixView<const float> X, MatrixView<double> proba) override {
    predict_values(forest, X, proba, n_threads_);
  }
  void predict(const Forest& forest, MatrixView<const double> X, MatrixView<double> proba) override {
    predict_values(forest, X, proba, n_threads_);
  }

 private:
  template <class T>
  BinnedTable bin_any(MatrixView<const T> X) {
    BinnedTable table{.n_rows = X.rows, .n_cols = X.cols, .codes = large_array<std::uint8_t>(memory_, X.rows * X.cols)};
    table.edges = bin_columns(X, table.codes.data(), n_threads_);
    add_row_forms(table, memory_, n_threads_);
    return table;
  }

  static void check(const ForestInput& input) {
    using enum schema::ErrorCode;
    require(input.n_rows() > 0 && input.table.n_cols > 0, kBadData, "a forest needs rows and columns, got {} x {}", input.n_rows(),
            input.table.n_cols);
    require(input.n_rows() <= 0xffffffffLL && input.table.n_rows <= 0x7fffffffLL, kBadData, "a forest on {} rows, at most 2147483647 are possible",
            input.n_rows());
    require(input.n_classes <= 65536, kBadData, "a forest for {} classes, at most 65536 are possible", input.n_classes);
  }

  Memory& memory_;
  int n_threads_;
};

}  // namespace

std::unique_ptr<TreeOps> make_cpu_trees(Memory& memory) { return make_cpu_trees(memory, omp_get_max_threads()); }
std::unique_ptr<TreeOps> make_cpu_trees(Memory& memory, int n_threads) { return std::make_unique<CpuTrees>(memory, n_threads); }

}  // namespace kedge::engine
