// A forest's nodes on the device as Forest has them, from where they are brought to the host, or asked at once.
#pragma once

#include <memory>

#include "engine/backend/cuda/trees/packed_trees.h"
#include "engine/backend/ops/grown_forest.h"

namespace kedge::engine {

// The members of Forest on the device, depth first.
struct ForestColumns {
  std::int32_t *feature, *left, *right, *n_rows;
  std::uint8_t* bin;
  double *threshold, *value, *mean, *impurity, *weight;
};

// Not thread safe. Borrows the runtime.
class GrownTrees final : public GrownForest {
 public:
  // head: a forest without nodes, of which tree_offset says how many there are. `columns` are rubbish until a kernel
  // has written them.
  GrownTrees(CudaRuntime& runtime, Forest head);
  const Forest& head() const override { return head_; }
  Forest bring() const override;
  bool has_room() const override;
  std::unique_ptr<ReadyForest> prepare() const override;

  const ForestColumns& columns() const { return columns_; }
  NodeLinks links() const { return links_of(head_); }
  // Room for nodes that are packed by their bins; null where they are too large for that, and prepare() brings them.
  NarrowTreeNode* room_for_packed();

 private:
  std::int64_t n_nodes() const { return head_.tree_offset.back(); }

  CudaRuntime& runtime_;
  Forest head_;
  Array<std::uint8_t> bytes_;   // of the columns
  ForestColumns columns_{};
  mutable Array<NarrowTreeNode> packed_;   // the first prepare() takes them
};

}   // namespace kedge::engine
