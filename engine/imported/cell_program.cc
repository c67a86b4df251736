// Programs on columns: what each operation adds, their state in a model file, and how rows run through them.
#include "engine/imported/cell_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/host/row_chunks.h"
#include "engine/imported/cell_ops.h"

namespace kedge::engine {
namespace {

constexpr auto kLastCode = static_cast<std::int64_t>(CellCode::kAbove);
constexpr std::int64_t kMostOps = 1 << 16, kMostEnsembles = 1 << 10;
constexpr std::int64_t kPieceBytes = std::int64_t{32} << 20;   // of the rows that a device is asked for at once
constexpr std::int64_t kBlockBytes = 512 << 10;   // of the columns of a block of rows: they fit an L2 cache
constexpr std::int64_t kMostBlockRows = 1024;

[[noreturn]] void fail(const std::string& where, const std::string& problem) {
  throw schema::Error(schema::ErrorCode::kModelCorrupt, where + ": " + problem);
}

}   // namespace

std::int64_t columns_added(const CellProgram& program, const CellOp& op, const std::string& where) {
  const auto n = static_cast<std::int64_t>(op.inputs.size()), held = static_cast<std::int64_t>(op.numbers.size());
  const auto needs = [&](std::int64_t inputs, std::int64_t numbers) {
    if (n != inputs) fail(where, fmt::format("it has {} columns, must have {}", n, inputs));
    if (held != numbers) fail(where, fmt::format("it has {} numbers, must have {}", held, numbers));
  };
  if (n == 0) fail(where, "it has no columns");
  switch (op.code) {
    case CellCode::kAdd:
    case CellCode::kSubtract:
    case CellCode::kMultiply:
    case CellCode::kDivide:
      return needs(n, n), n;
    case CellCode::kScale:
      return needs(n, 2 * n), n;
    case CellCode::kReplace:
      return needs(n, n + 1), n;
    case CellCode::kIs:
      return needs(1, held), held;
    case CellCode::kMustBe:
      return needs(1, held), 0;
    case CellCode::kMap:
      return needs(1, held | 1), 1;
    case CellCode::kDot:
      if (held % (n + 1) != 0) fail(where, fmt::format("it has {} numbers for {} columns", held, n));
      return held / (n + 1);
    case CellCode::kTrees: {
      needs(n, 1);
      const double at = op.numbers[0];
      if (!(at >= 0 && at < static_cast<double>(program.ensembles.size()))) fail(where, "there are no such trees");
      const TreeEnsemble& trees = program.ensembles[static_cast<std::size_t>(at)].trees;
      if (trees.n_cols != n) fail(where, fmt::format("it has {} columns, its trees ask for {}", n, trees.n_cols));
      return trees.n_outputs;
    }
    case CellCode::kFirstLargest:
      return needs(n, 0), 1;
    case CellCode::kAbove:
      return needs(1, 1), 1;
    default:
      return needs(n, 0), n;
  }
}

std::int64_t CellProgram::n_nodes() const {
  std::int64_t n = 0;
  for (const LeafyTrees& ensemble : ensembles) n += ensemble.trees.n_nodes();
  return n;
}

std::int64_t CellProgram::bytes() const {
  std::int64_t bytes = std::int64_t{1} << 12;
  for (const CellOp& op : ops)
    bytes += 256 + 4 * static_cast<std::int64_t>(op.inputs.size()) + 8 * static_cast<std::int64_t>(op.numbers.size());
  for (const CellOutput& output : outputs) bytes += 256 + 4 * static_cast<std::int64_t>(output.columns.size());
  for (const LeafyTrees& ensemble : ensembles)
    bytes += ensemble.trees.file_bytes() + 8 * static_cast<std::int64_t>(ensemble.leaf_values.size());
  return bytes;
}

namespace {

void ensemble_state(StateArchive& archive, LeafyTrees& ensemble) {
  TreeEnsemble& trees = ensemble.trees;
  std::int64_t n_cols = trees.n_cols;
  archive.number("tree_columns", n_cols, 1, kMostCells);
  {
    const StateArchive::Scope scope(archive, "trees", n_cols, 0);
    trees.state(archive, false);
  }
  archive.field("leaf_values", ensemble.leaf_values, kAnySize);
  archive.expect_finite("leaf_values", ensemble.leaf_values);
  const auto n_values = static_cast<std::int64_t>(ensemble.leaf_values.size());
  if (n_values == 0) return;
  archive.expect(n_values % trees.n_outputs == 0, "leaf_values", "has a part of a row");
  for (std::int64_t i = 0; i < trees.n_nodes(); ++i) {
    if (trees.feature[i] >= 0) continue;
    const double row = trees.threshold[i];
    archive.expect(row >= 0 && row < static_cast<double>(n_values / trees.n_outputs) && row == std::trunc(row),
                   "threshold", "has a leaf without values");
  }
}

}   // namespace

void CellProgram::state(StateArchive& archive) {
  archive.number("n_features", n_cols, archive.n_features(), archive.n_features());
  archive.expect(n_cols <= kMostCells, "n_features", "is too large");
  archive.list("ensembles", ensembles, [&](LeafyTrees& ensemble) { ensemble_state(archive, ensemble); });
  archive.expect(static_cast<std::int64_t>(ensembles.size()) <= kMostEnsembles, "ensembles", "are too many");
  std::int64_t n_cells = n_cols;
  archive.list("ops", ops, [&](CellOp& op) {
    auto code = static_cast<std::int64_t>(op.code);
    archive.number("code", code, 0, kLastCode);
    op.code = static_cast<CellCode>(code);
    archive.field("is_float32", op.is_float32);
    archive.indices("inputs", op.inputs, kAnySize, 0, n_cells - 1);
    archive.field("numbers", op.numbers, kAnySize);
    n_cells += columns_added(*this, op, "model: an operation");
    archive.expect(n_cells <= kMostCells, "ops", "add too many columns");
  });
  archive.expect(static_cast<std::int64_t>(ops.size()) <= kMostOps, "ops", "are too many");
  archive.list("outputs", outputs, [&](CellOutput& output) {
    archive.field("name", output.name);
    archive.field("is_classes", output.is_classes);
    archive.field("is_float32", output.is_float32);
    archive.indices("columns", output.columns, kAnySize, 0, n_cells - 1);
    archive.expect(!output.columns.empty() && (!output.is_classes || output.columns.size() == 1), "columns",
                   "do not fit the output");
  });
  archive.expect(!outputs.empty(), "outputs", "are none");
}

struct CellWalk::Impl {
  const CellProgram& program;
  TreeSums sums;   // of a device
  std::vector<std::unique_ptr<const EnsembleWalk>> walks = {};
  std::int64_t n_cells = program.n_cols, row_ns = 0;

  Impl(const CellProgram& owned, TreeSums of_device) : program(owned), sums(std::move(of_device)) {
    for (const LeafyTrees& ensemble : program.ensembles) {
      if (sums) continue;
      walks.push_back(std::make_unique<const EnsembleWalk>(ensemble.trees, ensemble.leaf_values));
      row_ns += 20 * ensemble.trees.n_trees();
    }
    for (const CellOp& op : program.ops) {
      n_cells += columns_added(program, op, "model: an operation");
      row_ns += static_cast<std::int64_t>(op.inputs.size() + op.numbers.size());
    }
  }
  std::int64_t rows_of_block() const {
    return std::clamp<std::int64_t>(kBlockBytes / (8 * n_cells), 1, kMostBlockRows);
  }

  // The inputs of an operation, row by row; and what it adds, from rows.
  static void gather(const CellOp& op, CellBlock& block, double* cells) {
    const auto n = static_cast<std::int64_t>(op.inputs.size());
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < block.n_rows; ++i) cells[i * n + j] = block.column(op.inputs[j])[i];
  }
  static void scatter(const double* sums, std::int64_t n_outputs, CellBlock& block, std::int64_t out) {
    for (std::int64_t k = 0; k < n_outputs; ++k)
      for (std::int64_t i = 0; i < block.n_rows; ++i) block.column(out + k)[i] = sums[i * n_outputs + k];
  }
  void run_trees(const CellOp& op, CellBlock& block, std::int64_t out) const {
    std::vector<double> cells(op.inputs.size() * static_cast<std::size_t>(block.n_rows));
    gather(op, block, cells.data());
    const auto at = static_cast<std::size_t>(op.numbers[0]);
    scatter(walks[at]->margins(cells, block.n_rows).data(), program.ensembles[at].trees.n_outputs, block, out);
  }

  CellBlock block_of(const double* rows, std::int64_t n) const {
    CellBlock block{.n_rows = n, .cells = std::vector<double>(static_cast<std::size_t>(n * n_cells))};
    for (std::int64_t j = 0; j < program.n_cols; ++j)
      for (std::int64_t i = 0; i < n; ++i) block.column(j)[i] = rows[i * program.n_cols + j];
    return block;
  }
  static void put(CellBlock& block, const CellOutput& output, double* out) {
    const auto wide = static_cast<std::int64_t>(output.columns.size());
    for (std::int64_t j = 0; j < wide; ++j)
      for (std::int64_t i = 0; i < block.n_rows; ++i) out[i * wide + j] = block.column(output.columns[j])[i];
  }

  void run(const double* rows, std::int64_t n, const CellOutput& output, double* out) const {
    CellBlock block = block_of(rows, n);
    std::int64_t next = program.n_cols;
    for (const CellOp& op : program.ops) {
      if (op.code == CellCode::kTrees) run_trees(op, block, next);
      else run_cells(op, block, next);
      next += columns_added(program, op, "model: an operation");
    }
    put(block, output, out);
  }

  // Each operation for all blocks of some rows, so that a device is asked for their trees at once.
  void run_with_device(const double* rows, std::int64_t n, const CellOutput& output, double* out) const {
    const std::int64_t size = rows_of_block(), n_blocks = (n + size - 1) / size;
    const auto wide = static_cast<std::int64_t>(output.columns.size());
    std::vector<CellBlock> blocks(static_cast<std::size_t>(n_blocks));
    const auto for_blocks = [&](auto&& work) {
      for_tasks(n_blocks, n * row_ns, [&](std::int64_t b) { work(b * size, blocks[static_cast<std::size_t>(b)]); });
    };
    for_blocks([&](std::int64_t first, CellBlock& block) {
      block = block_of(rows + first * program.n_cols, std::min(size, n - first));
    });
    std::int64_t next = program.n_cols;
    for (const CellOp& op : program.ops) {
      if (op.code == CellCode::kTrees) {
        const auto n_inputs = static_cast<std::int64_t>(op.inputs.size());
        const auto at = static_cast<std::size_t>(op.numbers[0]);
        std::vector<double> cells(static_cast<std::size_t>(n * n_inputs));
        for_blocks([&](std::int64_t first, CellBlock& block) { gather(op, block, cells.data() + first * n_inputs); });
        const std::vector<double> found = sums(at, cells, n);
        const std::int64_t n_outputs = program.ensembles[at].trees.n_outputs;
        for_blocks([&](std::int64_t first, CellBlock& block) {
          scatter(found.data() + first * n_outputs, n_outputs, block, next);
        });
      } else {
        for_blocks([&](std::int64_t, CellBlock& block) { run_cells(op, block, next); });
      }
      next += columns_added(program, op, "model: an operation");
    }
    for_blocks([&](std::int64_t first, CellBlock& block) { put(block, output, out + first * wide); });
  }
};

CellWalk::CellWalk(const CellProgram& program, TreeSums sums) : impl_(new Impl(program, std::move(sums))) {}
CellWalk::~CellWalk() = default;

std::vector<double> CellWalk::output(const CellOutput& output, std::span<const double> rows,
                                     std::int64_t n_rows) const {
  const auto wide = static_cast<std::int64_t>(output.columns.size());
  std::vector<double> out(static_cast<std::size_t>(n_rows * wide));
  if (impl_->sums) {
    const std::int64_t piece = std::max<std::int64_t>(1, kPieceBytes / (8 * impl_->n_cells));
    for (std::int64_t first = 0; first < n_rows; first += piece)
      impl_->run_with_device(rows.data() + first * impl_->program.n_cols, std::min(piece, n_rows - first), output,
                             out.data() + first * wide);
    return out;
  }
  const std::int64_t size = impl_->rows_of_block(), n_blocks = (n_rows + size - 1) / size;
  for_tasks(n_blocks, n_rows * impl_->row_ns, [&](std::int64_t b) {
    const std::int64_t first = b * size;
    impl_->run(rows.data() + first * impl_->program.n_cols, std::min(size, n_rows - first), output,
               out.data() + first * wide);
  });
  return out;
}

}   // namespace kedge::engine
