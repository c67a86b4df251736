// A fitted histogram gradient boosting: its trees, its scores, and how they come about.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend/host/boost_forest.h"
#include "engine/backend/host/boost_loss.h"
#include "engine/backend/ops/boosting.h"
#include "engine/backend/ops/tree_walk.h"
#include "engine/estimators/boosting/hist_columns.h"
#include "engine/estimators/boosting/hist_params.h"
#include "engine/estimators/contributions.h"

namespace kedge::engine {

// What is fitted: the loss with y and weights of every row; codes of classes, by which validation rows are drawn, or
// none.
struct HistTarget {
  BoostLoss loss = BoostLoss::kSquared;
  double quantile = 0.5;
  std::int32_t n_outputs = 1;
  std::vector<double> y, weights;
  std::span<const std::int32_t> codes;
  std::int32_t n_classes = 0;
};

// Value semantics. Not thread safe.
template <class T>
class HistModel {
 public:
  // What fit() with these parameters will ask of a search's work, for announce().
  static void announce(WorkCache& plan, const std::string& content, const char* owner,
                       const HistBoostingParams& params);
  // Within a search (ctx.work) the iterations of candidates that differ only in max_iter are made once, for the
  // largest. Errors: kBadData, kInvalidValue, kCancelled. Sends progress.
  void fit(const Context& ctx, const char* owner, const HistBoostingParams& params, const Samples<T>& X,
           const HistTarget& target);
  // Raw predictions, n_outputs x rows, output by output; host.
  std::vector<double> raw(const Context& ctx, const char* owner, const Samples<T>& X) const;
  // To the raw predictions, as Contributor.
  Contributions contributions(const Context& ctx, const char* owner, const Samples<T>& X,
                              const Division<T>& division) const;
  void append_attributes(schema::ValueMap& map) const;
  void state(StateArchive& archive, std::int32_t max_outputs);
  std::int32_t n_outputs() const { return forest_.n_outputs; }

 private:
  struct Rows;         // of a fit: which are fitted, which validate
  struct Iterations;   // what the candidates of a search leave to each other
  std::vector<double> raw_of_device(const Context& ctx, TreeWalkOps& ops, const Samples<T>& X) const;
  std::vector<double> cells_of(const Context& ctx, const char* owner, const Samples<T>& X) const;
  Rows part_rows(const char* owner, const HistBoostingParams& params, const HistTarget& target,
                 std::uint32_t seed) const;
  void iterate(const Context& ctx, const HistBoostingParams& params, std::int64_t n_iter, HistRows<T>& X,
               const HistTarget& target, const Rows& rows, std::uint32_t seed, std::uint64_t column_seed);
  void take(const Iterations& made, std::int64_t n_iter);
  bool score(const BoostLosses& losses, bool validates, const HistBoostingParams& params);

  BoostForest forest_;
  mutable std::shared_ptr<const CodedTrees> coded_;   // made by the first prediction; null: none can be
  mutable bool is_coded_ = false;
  mutable std::shared_ptr<const ReadyWalk> ready_;   // made by the first prediction on a device that walks trees itself
  mutable const Device* ready_on_ = nullptr;
  mutable KeptShap kept_shap_;   // of forest_
  std::vector<double> baseline_;
  HistCategories categories_;
  std::vector<std::int8_t> monotonic_;
  std::vector<std::vector<std::int32_t>> interactions_;
  std::vector<double> train_score_, validation_score_;
  bool stops_early_ = false;
};

}   // namespace kedge::engine
