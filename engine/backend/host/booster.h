// Boosting on the host: gradients, trees, and the predictions that they add up to, iteration by iteration.
#pragma once

#include <vector>

#include "engine/backend/host/boost_grower.h"
#include "engine/backend/host/boost_loss.h"

namespace kedge::engine {

// Holds what grows with the rows. The same forest at any number of threads and beside every device. Borrows what the
// target views. Not thread safe.
class Booster {
 public:
  Booster(BoostTable table, BoostRules rules, const BoostTarget& target);
  Booster(const Booster&) = delete;

  // One iteration more: appends a tree for each output. Errors: kBadData where gradients are not finite; kCancelled.
  void step(BoostForest& forest);
  // Mean loss of the rows that it fits.
  double loss() const { return boost_loss(target_, raw_); }
  const std::vector<double>& baseline() const { return baseline_; }

 private:
  void refit_leaves(BoostForest& forest);
  void add_leaves(double* raw);

  BoostTable table_;
  BoostRules rules_;
  BoostTarget target_;
  std::vector<double> baseline_, raw_, gradients_, hessians_;   // by output, then by row
  BoostGrower grower_;
  std::uint64_t n_trees_ = 0;
};

}   // namespace kedge::engine
