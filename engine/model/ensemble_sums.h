// The sums of imported trees on the device that a model was loaded for.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/ops/tree_shap.h"
#include "engine/backend/ops/tree_walk.h"
#include "engine/core/context.h"
#include "engine/imported/cell_program.h"

namespace kedge::engine {

// Margins of an ensemble, with the same bits on every device: by the device's own walk, whose nodes lie there as long
// as this does, or by EnsembleWalk. Borrows the ensemble and the device, which is asked later, too. Not thread safe.
class EnsembleSums {
 public:
  EnsembleSums(const Context& ctx, const TreeEnsemble& trees);   // O(nodes). Errors: those of the device

  // As EnsembleWalk::margins(), of cells on the host. Errors: kCancelled; those of the device.
  std::vector<double> margins(std::span<const double> rows, std::int64_t n_rows) const;

  // As ensemble_contributions(), by the device where it counts them itself, which is without background and pairs.
  std::vector<double> contributions(std::span<const double> rows, std::span<const double> background,
                                    std::int64_t n_rows, bool among_pairs) const;

 private:
  template <class T>
  std::vector<double> device_sums(std::span<const double> rows, std::int64_t n_rows) const;
  template <class T>
  std::vector<double> device_contributions(std::span<const double> rows, std::int64_t n_rows) const;

  const TreeEnsemble& trees_;
  Device& device_;
  Memory& memory_;
  std::unique_ptr<ReadyWalk> ready_;   // one of the two
  mutable std::unique_ptr<ReadyShap> shap_;   // made by the first question for contributions on such a device
  std::optional<EnsembleWalk> walk_;
};

// For CellWalk: the trees of a program where the device walks trees itself; each leaf row's numbers become as many
// trees. Empty where it does not. Borrows the device.
TreeSums device_tree_sums(const Context& ctx, const CellProgram& program);

}   // namespace kedge::engine
