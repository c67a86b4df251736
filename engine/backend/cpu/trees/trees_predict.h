// Running rows through a forest on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/host/coded_trees.h"
#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// out[i, :] = mean outputs of the trees for row i, summed in the order of the trees.
void predict_codes(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> out,
                   int n_threads);

// A forest packed for rows of values. Borrows it.
class ValueForest {
 public:
  explicit ValueForest(const Forest& forest);
  template <class T>
  void predict(MatrixView<const T> X, MatrixView<double> out, int n_threads) const;

 private:
  void add_leaf(std::int64_t tree, std::uint32_t number, double* sums) const;

  const Forest& forest_;
  std::unique_ptr<const CodedTrees> coded_;   // null: it cannot be coded
};

// As TreeOps::out_of_bag().
OutOfBag predict_out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                            const ForestOptions& options, int n_threads);

}  // namespace kedge::engine
