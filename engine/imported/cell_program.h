// A graph of another program as a list of operations on columns: each reads columns that are there and adds new ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/core/state_archive.h"
#include "engine/imported/tree_ensemble.h"

namespace kedge::engine {

// What an operation makes of its inputs, and which numbers it holds. n: inputs.
enum class CellCode : std::uint8_t {
  kRound,      // n columns as float32
  kTruncate,   // towards 0
  kAdd,        // n numbers
  kSubtract,   // n numbers: input - number
  kMultiply,   // n numbers
  kDivide,     // n numbers
  kScale,      // n offsets, n factors: (input - offset) * factor
  kExp,
  kReplace,   // a number, and n instead of it; NaN stands for NaN
  kIs,        // of one column, for each number: 1 where it is this number, otherwise 0
  kMustBe,    // one column is one of the numbers, or the rows are refused; adds none
  kMap,       // of one column: otherwise, keys, as many values
  kNormMax,   // n columns by the largest
  kNormL1,    // by the sum of their sizes
  kNormL2,    // by the root of the sum of their squares
  kDot,       // for each group of n + 1 numbers: the sum of input * number, and the last number
  kTrees,     // the number of an ensemble: its sums
  kLogistic,
  kProbit,
  kSoftmax,
  kSoftmaxZero,    // zeros stay near zero
  kFirstLargest,   // the index of the first of the largest inputs
  kAbove,          // of one column: 1 where it is above the number, otherwise 0
};

struct CellOp {
  CellCode code = CellCode::kRound;
  bool is_float32 = true;   // each step is rounded to float32, as the graph computes it
  std::vector<std::int32_t> inputs;
  std::vector<double> numbers;
};

struct CellOutput {
  std::string name;          // predict, predict_proba, decision_function, transform
  bool is_classes = false;   // one column: an index into the model's classes
  bool is_float32 = true;
  std::vector<std::int32_t> columns;
};

// Trees whose leaves may have a value for each output.
struct LeafyTrees {
  TreeEnsemble trees;
  std::vector<double> leaf_values;   // rows of n_outputs; if there are some, a leaf's threshold is its row
};

// Value semantics. Columns 0 to n_cols - 1 are the rows'; each operation adds its own behind the last.
struct CellProgram {
  std::int64_t n_cols = 0;
  std::vector<CellOp> ops;
  std::vector<LeafyTrees> ensembles;
  std::vector<CellOutput> outputs;

  std::int64_t n_nodes() const;
  std::int64_t bytes() const;          // of its tensors in a model's file
  void state(StateArchive& archive);   // of a model file; checks everything that is read
};

inline constexpr std::int64_t kMostCells = 1 << 16;   // columns of a program, those of its rows among them

// How many columns an operation adds. Errors: kModelCorrupt, beginning with `where`, where its numbers do not fit.
std::int64_t columns_added(const CellProgram& program, const CellOp& op, const std::string& where);

// What a device says of rows x columns cells (row-major, host) in one of a program's ensembles: as
// EnsembleWalk::margins(), the same bits.
using TreeSums =
    std::function<std::vector<double>(std::size_t ensemble, std::span<const double> cells, std::int64_t n_rows)>;

// Runs rows through a program. Borrows it. Every row gets the same bits whichever rows are beside it.
class CellWalk {
 public:
  // sums: asked by one thread for many rows at once; empty: trees are walked here.
  explicit CellWalk(const CellProgram& program, TreeSums sums = {});
  ~CellWalk();
  CellWalk(const CellWalk&) = delete;

  // Of rows x n_cols values (row-major, host), a missing one NaN: an output's columns, row-major. Errors: kBadData for
  // a category that the graph does not take; kCancelled.
  std::vector<double> output(const CellOutput& output, std::span<const double> rows, std::int64_t n_rows) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}   // namespace kedge::engine
