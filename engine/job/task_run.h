// One task on loaded data, in float32 or float64.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/job/job_check.h"
#include "engine/model_selection/chain.h"
#include "engine/model_selection/task_data.h"

namespace kedge::engine {

// What a task computes with. Borrows all but the table.
template <class T>
struct TaskInput {
  const CheckedJob& job;
  std::shared_ptr<Table<T>> table;
  const TaskTarget& target;
  std::int64_t fit_bytes = 0;   // of device memory, the most that one fit may take
  // Gets what was fitted on all rows: by a fit, or by the refit of a search. May be empty.
  std::function<void(const std::vector<schema::Step>&, Chain<T>&)> fitted = {};
};

// Fills in result.scores, .fitted, .search and the timings from `prepare` on. Errors: those of splitters and estimators; kCancelled.
template <class T>
void run_task(const Context& ctx, const TaskInput<T>& input, schema::Result& result);

}  // namespace kedge::engine
