// The memory that a job will need at its peak, told before anything is computed, and the refusal of a job that cannot fit.
#pragma once

#include <cstdint>
#include <string>

#include "engine/job_check.h"
#include "engine/selection.h"
#include "engine/target.h"

namespace kedge::engine {

// Bytes beyond what the worker holds when the job begins.
struct MemoryPlan {
  std::int64_t peak_bytes = 0;
  std::int64_t mapped_bytes = 0;   // of them, what is mapped from the data file: the system can have it back at any time
  std::string step, where;         // the step with the largest share of the peak: "PolynomialFeatures", "pipeline[0]"
};

// What a plan is made of. Borrows for the call.
struct MemoryInputs {
  const CheckedJob& job;
  const DatasetMeta& meta;
  const Selection& selection;
  const TaskTarget& target;
  bool has_table = false;   // the table is on the device already
  bool is_host = false;     // the device is the CPU
};

// An upper bound for what is known beforehand: table, folds, each step's matrix and workspace (memory_need.h), and what the
// candidates of a search share. What only the data can tell is taken for small: the categories of columns of numbers. Cost:
// microseconds a candidate.
MemoryPlan plan_memory(const MemoryInputs& inputs);

// Errors: kOutOfMemory with both numbers, naming the step, at its place in the job. The bound is what the process can still have,
// on a GPU the size of its memory.
void require_memory(const Context& ctx, const MemoryPlan& plan);

// From its construction on, on the CPU, the most that the process holds; report() then says it beside the prediction, in a log
// event: "memory: 812 MiB predicted at the peak, 640 MiB measured". Nothing for a job so small that looking would be felt, nor on
// a GPU.
class MemoryMeasure {
 public:
  MemoryMeasure(const Context& ctx, const MemoryPlan& plan);
  void report(const Context& ctx) const;

 private:
  std::int64_t predicted_ = 0, held_ = 0;
  bool is_on_ = false;
};

}   // namespace kedge::engine
