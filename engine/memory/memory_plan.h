// The memory that a job will need at its peak, found before it computes, and the refusal of a job that cannot fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/comm/ranks.h"
#include "engine/job/job_check.h"
#include "engine/table/selection.h"
#include "engine/table/target.h"

namespace kedge::engine {

// Of every plan on the CPU: stacks, buffers of BLAS, what malloc does not give back.
inline constexpr std::int64_t kOfProcess = std::int64_t{32} << 20;

// Bytes beyond what the worker holds when the job begins. There are two numbers, because the data decide how many nodes
// a tree gets or how many columns an encoder makes: a job that cannot fit is refused, and a job that may fit is tried.
struct MemoryPlan {
  std::int64_t needed_bytes = 0;   // no such job takes less: with less it is refused
  std::int64_t peak_bytes = 0;     // it should not take more: with less it runs within a bound, and a warning says so
  std::int64_t mapped_bytes = 0;   // of the peak, what is mapped from the data file: the system can have it back at any time
  std::string step, where;         // the step with the largest share of the peak: "PolynomialFeatures", "pipeline[0]"
  std::int64_t divided_rows = 0;   // of the table that ranks divide, or would; 0: they would not
  std::int64_t row_bytes = 0;      // of it
  std::int64_t whole_bytes = 0;    // of what is needed, all but the table: on every rank
  int ranks = 1;                   // that divide it
  std::int64_t linked_bytes = 0;   // of host memory, beside these, where tables are linked
  std::string columns = {};        // why it is so large, where that is known: columns of very many categories, by name
};

// What a plan is made of. Borrows for the call.
struct MemoryInputs {
  const CheckedJob& job;
  const DatasetMeta& meta;
  const Selection& selection;
  const TaskTarget& target;
  bool has_table = false;                              // the table is on the device already
  bool is_host = false;                                // the device is the CPU
  const Ranks* ranks = nullptr;                        // that load their own rows of the table (own_rows.h); null: none
  std::optional<bool> has_few_values = std::nullopt;   // of the selected columns, if the file was searched for it
  std::int64_t linked_from = 0;   // tables of so many bytes and more lie in host memory (linked_tables.h); 0: none does
  std::stop_token stop = {};                           // the plan of a search looks at all its candidates
};

// From what is known beforehand: table, folds, each step's matrix and workspace (memory_need.h), and what the
// candidates of a search share. What depends on the data is assumed to be usual: the nodes of a classifier's trees, the
// categories of columns of numbers. Cost: microseconds a candidate. Errors: kCancelled when stopped.
MemoryPlan plan_memory(const MemoryInputs& inputs);

// Bytes of the values of these rows in their file.
std::int64_t mapped_size(const DatasetMeta& meta, std::int64_t n_rows);

// Whether a step of the job, or one that a candidate puts in its place, has a memory rule that reads
// MemoryInputs::has_few_values: its row of the catalogue says so.
bool wants_value_counts(const CheckedJob& job);

// Bytes that a job may have on this device; the process's bounds included. 0: not known.
std::int64_t memory_for_job(const Context& ctx);

// Whether a job is so large that looking for what is available, which takes longer than a small one, is worth it.
bool is_checked(const Context& ctx, const MemoryPlan& plan);

// Errors: kOutOfMemory with both numbers, naming the step, at its place in the job, and with the number of ranks that
// would do where they divide the table, where less than plan.needed_bytes is available, or less than plan.peak_bytes
// and plan.columns says which columns are too many; otherwise, below plan.peak_bytes, there is a warning, with both
// numbers as well.
void require_memory(const Context& ctx, const MemoryPlan& plan);

// Does the work of a job that is not small, on the CPU, within what is available, so that it ends with an error and is never killed. Errors: those of work(); kOutOfMemory with both numbers where an allocation failed.
void within_memory(const Context& ctx, const MemoryPlan& plan, const std::function<void()>& work);

// From its construction on, on the CPU, the most that the process holds; report() then writes it with the prediction to
// a log event: "memory: 812 MiB predicted at the peak, 640 MiB measured". Nothing for a job so small that measuring
// would slow it down, nor on a GPU.
class MemoryMeasure {
 public:
  MemoryMeasure(const Context& ctx, const MemoryPlan& plan);
  // What was held since; 0 where it was not measured.
  std::int64_t report(const Context& ctx) const;

 private:
  std::int64_t predicted_ = 0, held_ = 0;
  bool is_on_ = false;
};

}   // namespace kedge::engine
