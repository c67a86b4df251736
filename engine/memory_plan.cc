// Adds up the memory needs of a job's steps over its folds and candidates.
#include "engine/memory_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/core/process_memory.h"
#include "engine/core/require.h"
#include "engine/estimators/memory_need.h"
#include "schemas/value.h"

namespace kedge::engine {
namespace {

using schema::Step;

constexpr std::int64_t kOfProcess = std::int64_t{32}
                                    << 20;   // on the CPU: stacks, buffers of BLAS, what malloc does not give back
constexpr std::int64_t kUnchecked = std::int64_t{64} << 20;   // looking for what is available takes longer than such a job

struct Peak {
  std::int64_t bytes = 0;
  std::size_t step = 0;   // with the largest share of it
};

// Nothing where the step will refuse these samples: it says so itself when it is fitted, to a search as one candidate's failure.
std::optional<MemoryNeed> need_of(const SampleShape& X, const Step& step) {
  try {
    return memory_need(X, step);
  } catch (const schema::Error&) {
    return std::nullopt;
  }
}

// The worst moment of fitting these steps on X and using them on as many rows.
Peak chain_peak(const std::vector<Step>& steps, SampleShape X) {
  Peak peak;
  std::int64_t held = 0;   // the matrix that the next step reads
  std::size_t maker = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::optional<MemoryNeed> need = need_of(X, steps[i]);
    if (!need) break;
    const std::int64_t made = i + 1 < steps.size() ? need->made : 0, own = need->work + made;
    if (held + own > peak.bytes) peak = {held + own, held >= own ? maker : i};
    if (made > 0) held = made, maker = i;
    X = std::move(need->out);
  }
  return peak;
}

// What the candidates leave in the fold's WorkCache: each distinct beginning of a pipeline what it made of all rows, each
// distinct last estimator behind it the work that its candidates share.
std::int64_t shared_bytes(const std::vector<std::vector<Step>>& pipelines, const SampleShape& all) {
  std::set<std::string> prefixes;
  std::map<std::string, std::int64_t> ends;
  std::int64_t sum = 0;
  for (const std::vector<Step>& steps : pipelines) {
    std::string key;
    SampleShape X = all;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::optional<MemoryNeed> need = need_of(X, steps[i]);
      if (!need) break;
      if (i + 1 == steps.size()) {
        std::int64_t& most = ends[key + steps[i].estimator];
        most = std::max(most, need->kept);
        break;
      }
      key += steps[i].estimator + schema::to_string(steps[i].params) + " | ";
      if (prefixes.insert(key).second) sum += need->made + need->kept;
      X = std::move(need->out);
    }
  }
  for (const auto& [key, bytes] : ends) sum += bytes;
  return sum;
}

// Rows of the larger part of a split, where the splitter says.
std::int64_t largest_part(const schema::CrossValidate& cv, std::int64_t n_rows) {
  const bool is_even = cv.splitter == "auto" || cv.splitter == "KFold" || cv.splitter == "StratifiedKFold";
  return is_even && cv.cv > 1 ? std::min(n_rows, n_rows - n_rows / cv.cv + 1) : n_rows;
}

std::int64_t largest_part(const schema::Task& task, std::int64_t n_rows) {
  if (const auto* cv = std::get_if<schema::CrossValidate>(&task)) return largest_part(*cv, n_rows);
  if (const auto* grid = std::get_if<schema::GridSearch>(&task)) return largest_part(grid->crossValidate, n_rows);
  if (const auto* random = std::get_if<schema::RandomizedSearch>(&task)) return largest_part(random->crossValidate, n_rows);
  return n_rows;
}

// Whether a last fit reads all rows of the table where they lie.
bool fits_all_rows(const schema::Task& task) {
  return !std::holds_alternative<schema::CrossValidate>(task) && !std::holds_alternative<schema::FitScore>(task);
}

Peak task_peak(const CheckedJob& job, const SampleShape& all) {
  SampleShape part = all;
  part.rows = largest_part(job.spec.task, all.rows), part.in_place = false;
  const bool has_parts = !std::holds_alternative<schema::Fit>(job.spec.task);
  Peak peak = fits_all_rows(job.spec.task) ? chain_peak(job.spec.pipeline, all) : Peak{};
  const auto take = [&](const std::vector<Step>& steps, std::int64_t shared) {
    Peak one = chain_peak(steps, part);
    one.bytes += shared;
    if (one.bytes > peak.bytes) peak = one;
  };
  if (has_parts && job.candidates.empty()) take(job.spec.pipeline, 0);
  const std::int64_t shared = job.candidates.empty() ? 0 : shared_bytes(job.candidates, all);
  for (const auto& steps : job.candidates) take(steps, shared);
  return peak;
}

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}   // namespace

MemoryPlan plan_memory(const MemoryInputs& in) {
  const std::int64_t value_bytes = in.selection.is_float32 ? 4 : 8, n = in.selection.n_rows;
  SampleShape all{.rows = n,
                  .cols = in.selection.n_cols(),
                  .entries = in.meta.n_entries,
                  .value_bytes = value_bytes,
                  .n_outputs = std::max<std::int64_t>(1, static_cast<std::int64_t>(in.target.classes.size())),
                  .in_place = true,
                  .features = in.selection.features};
  const std::int64_t file_bytes = in.meta.is_float32 ? 4 : 8;
  const std::int64_t in_file =
      in.meta.is_sparse() ? in.meta.n_entries * (file_bytes + 4) + (n + 1) * 8 : n * in.meta.n_values_columns * file_bytes;
  constexpr std::int64_t kTargetBytes =
      64;   // of a row: code, value, weight and group, of the table and of a fold, and its number
  MemoryPlan plan{.mapped_bytes = in.is_host ? in_file : 0};
  plan.peak_bytes = plan.mapped_bytes + n * kTargetBytes + (in.is_host ? kOfProcess : 0);
  if (!in.has_table)
    plan.peak_bytes += in.meta.is_sparse() ? in.meta.n_entries * (value_bytes + 4) + (n + 1) * 8 : all.value_size();
  const Peak peak = task_peak(in.job, all);
  plan.peak_bytes += peak.bytes;
  plan.step = in.job.spec.pipeline[std::min(peak.step, in.job.spec.pipeline.size() - 1)].estimator;
  plan.where = fmt::format("pipeline[{}]", peak.step);
  return plan;
}

void require_memory(const Context& ctx, const MemoryPlan& plan) {
  const std::int64_t needed = plan.peak_bytes - plan.mapped_bytes;
  if (needed <= kUnchecked) return;
  const DeviceInfo& device = ctx.device.info();
  const std::int64_t available = device.kind == DeviceKind::kCpu ? available_memory() : device.memory_bytes;
  if (needed <= available || available == 0) return;   // the emulated device has no size
  throw schema::Error(schema::ErrorCode::kOutOfMemory,
                      fmt::format("{} needs {} of memory at the peak of this job, {} are available", plan.step, in_mib(needed),
                                  in_mib(available)),
                      plan.where);
}

MemoryMeasure::MemoryMeasure(const Context& ctx, const MemoryPlan& plan)
    : predicted_(plan.peak_bytes),
      is_on_(ctx.emit && plan.peak_bytes > kUnchecked && ctx.device.info().kind == DeviceKind::kCpu) {
  if (!is_on_) return;
  reset_peak_memory();
  held_ = process_memory().held;
}

void MemoryMeasure::report(const Context& ctx) const {
  if (!is_on_) return;
  const std::int64_t measured = std::max<std::int64_t>(0, process_memory().peak - held_);
  ctx.emit(schema::LogEvent{"info",
                            fmt::format("memory: {} predicted at the peak, {} measured", in_mib(predicted_), in_mib(measured))});
}

}   // namespace kedge::engine
