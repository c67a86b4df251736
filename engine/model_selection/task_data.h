// The rows of a task and what they are to be mapped to, and the part of them that one fold sees.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {

// Host memory, one entry per selected row; what is not wanted or not there is empty.
struct TaskTarget {
  TargetKind kind = TargetKind::kNone;
  std::vector<std::int32_t> codes;     // kClasses
  std::vector<std::string> classes;    // names of the classes that occur, in code order
  std::vector<double> values;          // kValues
  std::vector<double> weights;
  std::vector<std::int32_t> groups;    // numbered in ascending order of the column's values
  std::vector<TargetOutput> outputs = {};   // of several target columns, in place of codes, classes and values
};

// Borrows the target; shares the table with the Samples that it gives.
template <class T>
class TaskData {
 public:
  TaskData(std::shared_ptr<Table<T>> table, const TaskTarget& target);
  std::int64_t n_rows() const { return table_->X.rows(); }
  const TaskTarget& target() const { return target_; }

  Samples<T> all() const { return {.table = table_}; }
  Target all_targets() const;
  Samples<T> rows(const Context& ctx, const std::vector<std::int32_t>& rows) const;
  Target targets(const std::vector<std::int32_t>& rows) const;

 private:
  std::shared_ptr<Table<T>> table_;
  const TaskTarget& target_;
};

// Both parts of one split. Borrows the data.
template <class T>
struct Fold {
  Samples<T> train, test;
  Target train_target, test_target;
  Fold(const Context& ctx, const TaskData<T>& data, const Split& split);
};

}  // namespace kedge::engine
