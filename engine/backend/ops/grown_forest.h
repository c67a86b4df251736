// Forests that stay where they were grown. What the TreeOps of a device with memory of its own have beside them.
#pragma once

#include <memory>
#include <stop_token>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// A forest on the device until the host asks for its nodes. Borrows the device. Not thread safe.
class GrownForest {
 public:
  virtual ~GrownForest() = default;
  virtual const Forest& head() const = 0;   // without nodes: n_classes, n_cols, tree_offset
  virtual Forest bring() const = 0;         // the whole, to the host
  virtual bool has_room() const = 0;        // whether the device has much more memory free than the forest takes
  // For bytes of the table that it was grown on alone; borrows this. Null where nodes are too large for it, and after
  // the first time.
  virtual std::unique_ptr<ReadyForest> prepare() const = 0;
};

class GrownForestOps {
 public:
  virtual ~GrownForestOps() = default;
  // As TreeOps::grow(), but the nodes stay on the device; null where it would not keep them, and nothing is done.
  virtual std::unique_ptr<GrownForest> grow_there(const BinnedTable& table, VectorView<const std::int32_t> rows,
                                                  const TreeTarget& target, const ForestOptions& options,
                                                  std::stop_token stop, const TreeProgress& progress) = 0;
};

// Null where forests are grown in the host's memory.
inline GrownForestOps* grown_forest_ops(TreeOps& trees) {
  return dynamic_cast<GrownForestOps*>(&trees);
}

}   // namespace kedge::engine
