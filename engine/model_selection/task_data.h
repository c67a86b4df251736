// The rows of a task and what they are to be mapped to, and the part of them that one fold sees.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/model_selection/lanes.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {

// Of all selected rows; what is not wanted or not there is empty. Its classes are those that occur.
struct TaskTarget : Target {
  TargetKind kind = TargetKind::kNone;
  std::vector<std::int32_t> groups;   // host, one per row, numbered in ascending order of the column's values
};

// Borrows the target; shares the table with the Samples that it gives.
template <class T>
class TaskData {
 public:
  // fit_bytes: see LaneLoad.
  TaskData(std::shared_ptr<Table<T>> table, const TaskTarget& target, std::int64_t fit_bytes = 0);
  std::int64_t n_rows() const { return table_->X.rows(); }
  const TaskTarget& target() const { return target_; }

  Samples<T> all() const { return {.table = table_}; }
  // Not a copy, so that its arrays on a device serve all fits on all rows.
  const Target& all_targets() const { return target_; }
  Samples<T> rows(const Context& ctx, const std::vector<std::int32_t>& rows) const;
  Target targets(const std::vector<std::int32_t>& rows) const;

  // In how many lanes so many fits on rows of the table are done: see lanes_for(). The table is then ready for lanes.
  int lanes(const Context& ctx, std::int64_t pieces) const;

 private:
  std::shared_ptr<Table<T>> table_;
  const TaskTarget& target_;
  std::int64_t fit_bytes_;
};

// Both parts of one split. Borrows the data.
template <class T>
struct Fold {
  Samples<T> train, test;
  Target train_target, test_target;
  Fold(const Context& ctx, const TaskData<T>& data, const Split& split);
};

}  // namespace kedge::engine
