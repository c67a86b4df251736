// Boosting on a device that has memory of its own: it keeps what grows with the rows and grows the trees itself.
#pragma once

#include <memory>
#include <span>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/host/boost_loss.h"
#include "engine/backend/host/boost_node.h"
#include "engine/backend/host/boost_table.h"
#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// A table as bytes in the memory of a device.
struct BoostCodes {
  std::int64_t n_rows = 0;
  std::vector<BoostColumn> columns;
  Array<std::uint8_t> codes;   // codes[column * n_rows + row]
  static BoostCodes of(Memory& memory, const BoostTable& table) {
    return {table.n_rows, table.columns, Array<std::uint8_t>(memory, std::span<const std::uint8_t>(table.codes))};
  }
};

// Which rows of a matrix in the memory of a device.
template <class T>
struct BoostCells {
  MatrixView<const T> X;
  std::span<const std::int32_t> rows;   // empty: all
  std::int64_t n_rows() const { return rows.empty() ? X.rows : std::ssize(rows); }
};

// What trees are fitted to. The rules are borrowed, and so are the targets, in host memory.
struct BoostFit {
  BoostCodes table;
  const BoostRules* rules = nullptr;
  BoostTarget target;
  std::span<const double> baseline;   // by output: where raw predictions begin
  BoostCodes validation;              // of the rows that validate, by the same bins; may be empty
  BoostTarget validation_target;
};

// Mean losses of the rows that are fitted, and of those that validate: 0 without.
struct BoostLosses {
  double fitted = 0, validation = 0;
};

// Boosting under way. Not thread safe.
class BoostRun {
 public:
  virtual ~BoostRun() = default;
  // One iteration more: appends a tree for each output, whose leaves may have no values before finish(). Errors:
  // kBadData where derivatives are not finite; kCancelled.
  virtual void step(BoostForest& forest) = 0;
  virtual BoostLosses losses() = 0;
  // Writes the values of leaves that step() left open.
  virtual void finish(BoostForest& forest) = 0;
};

// Beside the TreeOps of a device that has memory of its own. Thread safety: one caller at a time.
class BoostOps {
 public:
  virtual ~BoostOps() = default;
  // Whether it takes such a fit. Left to the host: up to kFewBoostRows rows, losses without curvature, and trees of so
  // many leaves that their histograms would fill the device.
  virtual bool takes(BoostLoss loss, std::int64_t n_rows, std::int64_t n_cols, const BoostRules& rules) const = 0;
  // boost_table() and coded_rows() of the host, bit for bit, where no column is a category and edges have no weights.
  virtual BoostCodes bin(const BoostCells<float>& cells, const BoostBinning& binning) = 0;
  virtual BoostCodes bin(const BoostCells<double>& cells, const BoostBinning& binning) = 0;
  virtual BoostCodes code(const BoostCells<float>& cells, const std::vector<BoostColumn>& columns) = 0;
  virtual BoostCodes code(const BoostCells<double>& cells, const std::vector<BoostColumn>& columns) = 0;
  // The trees of host/booster.h, bit for bit. Copies the targets to the device.
  virtual std::unique_ptr<BoostRun> start(BoostFit fit) = 0;
};

// Null where trees grow in the host's memory by its own code.
inline BoostOps* boost_ops(TreeOps& trees) {
  return dynamic_cast<BoostOps*>(&trees);
}

}   // namespace kedge::engine
