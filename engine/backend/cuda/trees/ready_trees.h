// A forest that lies on the device, packed, for any number of predictions.
#pragma once

#include <memory>
#include <utility>

#include "engine/backend/cuda/trees/packed_trees.h"

namespace kedge::engine {

// Packs the forest when rows of a form are first asked about: bytes, floats or doubles. Borrows forest and device. Not
// thread safe.
class ReadyTrees final : public ReadyForest {
 public:
  ReadyTrees(CudaRuntime& runtime, const Forest& forest) : runtime_(runtime), forest_(forest) {}
  // Of a forest that was packed for bytes where it was grown, and is asked about nothing else. Borrows its head.
  ReadyTrees(CudaRuntime& runtime, const Forest& head, std::unique_ptr<PackedTrees<NarrowTreeNode>> packed)
      : runtime_(runtime), forest_(head), codes_{true, std::move(packed), nullptr} {}

  void predict(const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> out) const override {
    sum_codes(table, rows, nullptr, out);
  }
  void predict(MatrixView<const float> X, MatrixView<double> out) const override;
  void predict(MatrixView<const double> X, MatrixView<double> out) const override;

  // out = sums over the trees t with drawn[t * out.rows + i] = 0, in their order; with null means over all.
  void sum_codes(const BinnedTable& table, VectorView<const std::int32_t> rows, const std::uint8_t* drawn,
                 MatrixView<double> out) const;

 private:
  struct Form {
    bool is_packed = false;   // for floats or bytes: narrow, or wide where narrow nodes are too small
    std::unique_ptr<PackedTrees<NarrowTreeNode>> narrow;
    std::unique_ptr<PackedTrees<WideTreeNode>> wide;
  };
  const PackedTrees<NarrowTreeNode>* narrow(Form& form, bool by_bins) const;   // null: `wide` is there

  CudaRuntime& runtime_;
  const Forest& forest_;
  mutable Form codes_, values_;
};

}   // namespace kedge::engine
