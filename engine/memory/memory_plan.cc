// Adds up the memory needs of a job's steps over its folds and candidates.
#include "engine/memory/memory_plan.h"

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <string_view>

#include "engine/comm/dealt_blocks.h"
#include "engine/core/gpu_memory.h"
#include "engine/core/params.h"
#include "engine/core/process_memory.h"
#include "engine/core/require.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/cluster/memory.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/svm/memory.h"
#include "engine/estimators/svm/shared_kernel.h"
#include "engine/job/dealt.h"
#include "engine/job/inspection.h"
#include "engine/job/param_path.h"
#include "engine/model_selection/shared_steps.h"
#include "engine/model_selection/splitters.h"
#include "engine/table/own_rows.h"
#include "schemas/value.h"

namespace kedge::engine {
namespace {

using schema::Step;

constexpr std::int64_t kUnchecked = std::int64_t{64} << 20;   // looking for what is available takes longer than such a job

struct Peak {
  std::int64_t bytes = 0;
  std::size_t step = 0;      // with the largest share of it
  std::int64_t needed = 0;   // at least
  std::int64_t linked = 0;   // of tables beside the one of the job that lie in host memory: MemoryInputs::linked_from
};

// Rows of a part of the table, as far as the splitter says.
struct PartSize {
  std::int64_t least = 0, most = 0;
};

// Nothing where the step will refuse these samples: it says so itself when it is fitted, to a search as one candidate's failure.
std::optional<MemoryNeed> need_of(const SampleShape& X, const Step& step) {
  try {
    return memory_need(X, step);
  } catch (const schema::Error&) {
    return std::nullopt;
  }
}

// What the steps of pipelines need, one after the other, of the same samples. Pipelines that follow each other and begin with the same
// steps, as the candidates of a search do, have these worked out once.
class ChainNeeds {
 public:
  explicit ChainNeeds(SampleShape X, std::int64_t linked_from = 0) : linked_from_(linked_from), X_(std::move(X)) {}

  // Where steps make or read rows of which a rank has its own, there are so many.
  void set_own_rows(std::int64_t rows) { own_rows_ = rows; }

  // Calls see(i, need, key) for each step, until one refuses its samples. key: of the step.
  template <class See>
  void along(const SharedSteps& steps, See see) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i < known_.size() && known_[i].step != steps[i]) known_.resize(i);
      if (i == known_.size()) add(steps[i]);
      if (!known_[i].need) return;
      see(i, *known_[i].need, known_[i].key);
    }
  }
  // Of a matrix of so many bytes in this shape, those in host memory: all, or none.
  std::int64_t linked_of(std::int64_t bytes, const SampleShape& shape) const {
    return linked_from_ > 0 && bytes >= linked_from_ && !shape.is_sparse() ? bytes : 0;
  }
  // Of what a step needs, the copy of its samples that is linked.
  std::int64_t linked_copy(std::size_t i) const { return known_[i].linked_copy; }

 private:
  struct Known {
    std::shared_ptr<const Step> step;   // so that no other step gets its address
    std::string key;
    std::optional<MemoryNeed> need;
    std::int64_t linked_copy = 0;
  };
  static bool gives_rows(const Known& known) {   // to every rank
    return find_estimator(known.step->estimator)->leaves == RowsLeft::kGiven;
  }
  void add(const std::shared_ptr<const Step>& step) {
    const SampleShape& X = known_.empty() ? X_ : known_.back().need->out;
    const std::int64_t copied = linked_of(X.copy(), X);
    SampleShape read = X;
    if (copied > 0) read.in_place = true;
    if (own_rows_ && memory::divides_rows(*step) && std::ranges::none_of(known_, gives_rows))
      read.table_rows = X.rows, read.rows = *own_rows_;
    std::optional<MemoryNeed> need = need_of(read, *step);
    if (need && own_rows_ && find_estimator(step->estimator)->leaves == RowsLeft::kOwn)
      need->made = need->made / X.rows * *own_rows_, need->work = need->work / X.rows * *own_rows_;
    known_.push_back({step, step_key(*step), std::move(need), copied});
  }

  std::int64_t linked_from_;
  std::optional<std::int64_t> own_rows_;
  SampleShape X_;
  std::vector<Known> known_;   // of the last pipeline
};

// The worst moment of fitting these steps on the samples and using them on as many rows.
Peak chain_peak(const SharedSteps& steps, ChainNeeds& needs) {
  Peak peak;
  std::int64_t held = 0, held_linked = 0;   // the matrix that the next step reads
  std::size_t maker = 0;
  bool is_exact = true;   // its size
  needs.along(steps, [&](std::size_t i, const MemoryNeed& need, const std::string&) {
    const std::int64_t all_made = i + 1 < steps.size() ? need.made : 0, linked = needs.linked_of(all_made, need.out),
                       made = all_made - linked, own = need.work + made;
    if (held + own > peak.bytes) peak.bytes = held + own, peak.step = held >= own ? maker : i;
    if (is_exact) peak.needed = std::max(peak.needed, held + std::max(need.minimum, need.is_exact ? made : 0));
    peak.linked = std::max(peak.linked, held_linked + needs.linked_copy(i) + linked);
    if (all_made > 0) held = made, held_linked = linked, maker = i;
    is_exact = is_exact && need.is_exact;
  });
  return peak;
}

// The pipelines of the candidates, one at a time. Errors: kCancelled.
template <class Visit>
void for_each_candidate(const MemoryInputs& in, Visit visit) {
  const SharedSteps own = shared_steps(in.job.spec.pipeline);
  for (std::size_t i = 0; i < in.job.candidates.size(); ++i) {
    if (in.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
    visit(with_params(own, in.job.candidates[i], "task"));
  }
}

// What the candidates leave in the fold's WorkCache: each distinct beginning of a pipeline leaves the rows that it
// made, and each distinct last estimator after it leaves the work that its candidates share. Kernel rows of support
// vector machines count by their kernel.
Peak shared_bytes(const MemoryInputs& in, const SampleShape& all) {
  std::map<std::string, std::size_t> beginnings;   // by number of the shorter one, and step
  std::map<std::string, std::int64_t> ends;
  struct Kernel {
    std::int64_t bytes = 0, users = 0;
  };
  std::map<std::string, Kernel> kernels;
  std::int64_t sum = 0, linked = 0;
  ChainNeeds needs(all, in.linked_from);
  for_each_candidate(in, [&](const SharedSteps& steps) {
    std::size_t beginning = 0;
    needs.along(steps, [&](std::size_t i, const MemoryNeed& need, const std::string& key) {
      if (i + 1 == steps.size()) {
        if (const std::string kernel = memory::kernel_matrix_key(*steps[i]); !kernel.empty()) {
          Kernel& of = kernels[std::to_string(beginning) + " " + kernel];
          of = {.bytes = std::max(of.bytes, need.kept), .users = of.users + 1};
          return;
        }
        std::int64_t& most = ends[std::to_string(beginning) + " " + steps[i]->estimator];
        most = std::max(most, need.kept);
        return;
      }
      const auto [place, is_new] = beginnings.try_emplace(std::to_string(beginning) + " " + key, beginnings.size() + 1);
      const std::int64_t of_made = is_new ? needs.linked_of(need.made, need.out) : 0;
      if (is_new) linked += of_made, sum += need.made - of_made + need.kept;
      beginning = place->second;
    });
  });
  for (const auto& [key, bytes] : ends) sum += bytes;
  std::int64_t of_kernels = 0;
  for (const auto& [key, kernel] : kernels)   // those of one user are its own
    if (kernel.users > 1) of_kernels = std::min(kSharedKernelBytes, of_kernels + kernel.bytes);
  return {.bytes = sum + of_kernels, .linked = linked};
}

PartSize part_of(const schema::CrossValidate& cv, std::int64_t n_rows) {
  const bool is_even = cv.splitter == "auto" || cv.splitter == "KFold" || cv.splitter == "StratifiedKFold";
  if (!is_even || cv.cv < 2) return {.most = n_rows};
  const std::int64_t part = n_rows - n_rows / cv.cv;
  return {.least = std::max<std::int64_t>(0, part - 1), .most = std::min(n_rows, part + 1)};
}

const schema::CrossValidate* cross_validation_of(const schema::Task& task) {
  if (const auto* cv = std::get_if<schema::CrossValidate>(&task)) return cv;
  if (const auto* grid = std::get_if<schema::GridSearch>(&task)) return &grid->crossValidate;
  if (const auto* random = std::get_if<schema::RandomizedSearch>(&task)) return &random->crossValidate;
  if (const auto* halving = std::get_if<schema::HalvingGridSearch>(&task)) return &halving->crossValidate;
  if (const auto* curve = std::get_if<schema::LearningCurve>(&task)) return &curve->crossValidate;
  if (const auto* curve = std::get_if<schema::ValidationCurve>(&task)) return &curve->crossValidate;
  if (const auto* test = std::get_if<schema::PermutationTestScore>(&task)) return &test->crossValidate;
  return nullptr;
}

// How the rows are divided once; null: they are not.
const schema::FitScore* parts_of(const schema::Task& task) {
  if (const auto* score = std::get_if<schema::FitScore>(&task)) return score;
  if (const auto* importance = std::get_if<schema::PermutationImportance>(&task))
    return importance->fitScore ? &*importance->fitScore : nullptr;
  const auto* dependence = std::get_if<schema::PartialDependence>(&task);
  return dependence && dependence->fitScore ? &*dependence->fitScore : nullptr;
}

bool is_inspection(const schema::Task& task) {
  return std::holds_alternative<schema::PermutationImportance>(task) ||
         std::holds_alternative<schema::PartialDependence>(task);
}

PartSize part_of(const schema::Task& task, std::int64_t n_rows) {
  const schema::CrossValidate* const cv = cross_validation_of(task);
  const auto* curve = std::get_if<schema::LearningCurve>(&task);
  if (curve && !curve->trainSizes.empty()) return {.most = part_of(*cv, n_rows).most};
  if (cv && !std::holds_alternative<schema::HalvingGridSearch>(task)) return part_of(*cv, n_rows);   // which begins with few rows
  const schema::FitScore* const score = parts_of(task);
  const bool is_usual = score && !score->testSize && !score->trainSize;
  return {.least = is_usual ? n_rows / 4 * 3 - 1 : 0, .most = n_rows};
}

bool is_search(const schema::Task& task) {
  return std::holds_alternative<schema::GridSearch>(task) || std::holds_alternative<schema::RandomizedSearch>(task) ||
         std::holds_alternative<schema::HalvingGridSearch>(task);
}

// Whether a last fit reads all rows of the table in place.
bool fits_all_rows(const schema::Task& task) {
  return std::holds_alternative<schema::Fit>(task) || is_search(task) || (is_inspection(task) && !parts_of(task));
}

// Dense copies of the examined rows, which are predicted.
SampleShape examined_shape(const schema::Task& task, const SampleShape& all) {
  SampleShape shape = all;
  shape.in_place = false, shape.entries = 0;
  const auto* dependence = std::get_if<schema::PartialDependence>(&task);
  if (!dependence) return shape;
  std::int64_t points = 1;
  for (const schema::Value& entry : dependence->features) {
    const auto* pair = std::get_if<schema::ValueList>(&entry.data);
    const std::int64_t axis = std::min(dependence->gridResolution, kMostDependences);
    points = std::max(points, pair && pair->size() == 2 ? axis * axis : axis);
  }
  shape.rows *= copies_at_once(all.rows, points);
  return shape;
}

// The copies, the matrix that they are gathered from, what the steps make of them, and the answer.
std::int64_t inspection_bytes(const MemoryInputs& in, const SampleShape& all) {
  if (!is_inspection(in.job.spec.task)) return 0;
  const SampleShape copies = examined_shape(in.job.spec.task, all);
  std::int64_t made = 0;
  ChainNeeds needs(copies);
  needs.along(shared_steps(in.job.spec.pipeline),
              [&](std::size_t, const MemoryNeed& need, const std::string&) { made = std::max(made, need.made); });
  const std::int64_t answers = copies.rows * std::max<std::int64_t>(1, all.n_outputs) * 16;
  const auto* dependence = std::get_if<schema::PartialDependence>(&in.job.spec.task);
  const bool is_individual = dependence && dependence->kind != "average";
  return copies.rows * all.cols * all.value_bytes + 2 * all.rows * all.cols * all.value_bytes + made + answers +
         (is_individual ? kMostDependences * 48 : 0);
}

Peak larger(Peak a, Peak b) {
  return {.bytes = std::max(a.bytes, b.bytes),
          .step = b.bytes > a.bytes ? b.step : a.step,
          .needed = std::max(a.needed, b.needed),
          .linked = std::max(a.linked, b.linked)};
}

SampleShape with_rows(SampleShape X, std::int64_t rows) {
  X.in_place = false;
  X.rows = rows;
  return X;
}

// Fitting pipelines on a part of the rows.
class PartPeaks {
 public:
  PartPeaks(const SampleShape& all, PartSize size, std::int64_t linked_from)
      : size_(size), most_(with_rows(all, size.most), linked_from), least_(with_rows(all, size.least), linked_from) {}

  Peak operator()(const SharedSteps& steps) {
    Peak peak = chain_peak(steps, most_);
    peak.needed = size_.least > 0 ? chain_peak(steps, least_).needed : 0;
    return peak;
  }

 private:
  PartSize size_;
  ChainNeeds most_, least_;
};

// Of the target column that has the most.
std::int64_t most_classes(const TaskTarget& target) {
  std::size_t most = target.classes.size();
  for (const TargetOutput& output : target.outputs) most = std::max(most, output.classes.size());
  return static_cast<std::int64_t>(most);
}

// rank_rows: of a rank that has its own rows of the table alone.
Peak task_peak(const MemoryInputs& in, const SampleShape& all, std::optional<std::int64_t> rank_rows) {
  const CheckedJob& job = in.job;
  const SharedSteps own = shared_steps(job.spec.pipeline);
  const bool has_parts = !std::holds_alternative<schema::Fit>(job.spec.task) &&
                         !(is_inspection(job.spec.task) && !parts_of(job.spec.task));
  ChainNeeds whole(all, in.linked_from);
  if (rank_rows) whole.set_own_rows(*rank_rows);
  Peak peak = fits_all_rows(job.spec.task) ? chain_peak(own, whole) : Peak{};
  if (has_parts) peak.needed = 0;   // a search fits another candidate, or none
  PartPeaks part_peak(all, part_of(job.spec.task, all.rows), in.linked_from);
  if (has_parts && job.candidates.empty()) return larger(peak, part_peak(own));
  const Peak shared = job.candidates.empty() ? Peak{} : shared_bytes(in, all);
  for_each_candidate(in, [&](const SharedSteps& steps) {
    Peak of_candidate = part_peak(steps);
    of_candidate.bytes += shared.bytes, of_candidate.linked += shared.linked;
    peak = larger(peak, of_candidate);
  });
  return peak;
}

// The numbers of the rows of all splits, which are made before the first fit. Parts of a given size count as 0.
std::int64_t splits_bytes(const schema::CrossValidate& cv, std::int64_t n_rows) {
  const bool is_repeated = cv.splitter.starts_with("Repeated"), is_sized = cv.testSize || cv.trainSize || cv.maxTrainSize;
  const std::int64_t rows = is_sized ? 0 : cv.splitter == "TimeSeriesSplit" ? n_rows / 2 : n_rows;
  const bool may_be_many = cv.splitter.ends_with("ShuffleSplit");   // others are refused beyond the rows
  const std::int64_t splits = cv.splitter == "LeaveOneOut" ? n_rows : may_be_many ? cv.cv : std::min(cv.cv, n_rows);
  return bytes_of(splits, is_repeated ? cv.nRepeats.value_or(10) : 1, static_cast<std::int64_t>(sizeof(Split)) + rows * 4);
}

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// The table on the device.
std::int64_t table_size(const MemoryInputs& in, const SampleShape& all) {
  if (in.has_table) return 0;
  if (in.ranks) return own_rows_bytes(*in.ranks, in.selection);
  return in.meta.is_sparse() ? in.meta.n_entries * (all.value_bytes + 4) + (all.rows + 1) * 8 : all.value_size();
}

bool scores_proba(const CheckedJob& job) {
  return std::ranges::any_of(job.scorers, [](const Scorer* s) { return s->needs_proba || s->needs_decision; });
}

// "; 4 ranks on machines with as much would do": the fewest of which each has room for its rows of the table. Rows are
// dealt in blocks, so more ranks than there are blocks do not help.
std::string ranks_that_do(const MemoryPlan& plan, std::int64_t available) {
  const std::int64_t block = block_rows(plan.divided_rows), blocks = (plan.divided_rows + block - 1) / block;
  for (int ranks = plan.ranks + 1; ranks <= blocks; ++ranks) {
    std::int64_t most = 0;
    for (int r = 0; r < ranks; ++r) most = std::max(most, rows_of_rank(r, ranks, plan.divided_rows).size());
    if (plan.whole_bytes + most * plan.row_bytes <= available)
      return fmt::format("; {} ranks on machines with as much would do", ranks);
  }
  return "";
}

}   // namespace

MemoryPlan plan_memory(const MemoryInputs& in) {
  constexpr std::int64_t kTargetBytes =
      64;   // of a row: code, value, weight and group, of the table and of a fold, and its number
  constexpr std::int64_t kOutputBytes = 32;   // of a row in one of several target columns
  constexpr std::int64_t kProbaBytes = 16;    // of a row in one of several columns of labels
  const std::int64_t n = in.selection.n_rows;
  const SampleShape all{.rows = n,
                        .cols = in.selection.n_cols(),
                        .entries = in.meta.n_entries,
                        .value_bytes = in.selection.is_float32 ? 4 : 8,
                        .n_outputs = std::max<std::int64_t>(1, most_classes(in.target)),
                        .n_targets = std::max<std::int64_t>(1, std::ssize(in.target.outputs)),
                        .in_place = true,
                        .table_rows = n,
                        .has_few_values = in.has_few_values,
                        .features = in.selection.features,
                        .on_host = in.is_host};
  MemoryPlan plan{.mapped_bytes = in.is_host ? mapped_size(in.meta, n) : 0};
  const std::int64_t whole_table = table_size(in, all), table = in.linked_from > 0 ? 0 : whole_table,
                     of_targets = bytes_of(n, std::ssize(in.target.outputs),
                                           kOutputBytes + (scores_proba(in.job) ? kProbaBytes : 0));
  std::optional<std::int64_t> rank_rows;
  if (in.ranks) rank_rows = own_rows(in.ranks, n).size();
  const Peak peak = task_peak(in, all, rank_rows);
  plan.peak_bytes = plan.mapped_bytes + n * kTargetBytes + of_targets + (in.is_host ? kOfProcess : 0) + table +
                    peak.bytes + inspection_bytes(in, all);
  plan.needed_bytes = table + peak.needed;
  plan.linked_bytes = in.linked_from > 0 ? whole_table + peak.linked : 0;
  if (reads_own_rows(in.job.spec) && !in.has_table && can_load_own_rows(in.is_host, in.selection, in.meta)) {
    plan.divided_rows = n, plan.whole_bytes = task_peak(in, all, 0).needed;
    const std::int64_t of_rows = (peak.needed - plan.whole_bytes) / std::max<std::int64_t>(1, rank_rows.value_or(n));
    plan.row_bytes = all.cols * all.value_bytes + of_rows;
    plan.ranks = in.ranks ? in.ranks->size() : 1;
  }
  plan.step = in.job.spec.pipeline[std::min(peak.step, in.job.spec.pipeline.size() - 1)].estimator;
  plan.where = fmt::format("pipeline[{}]", peak.step);
  if (const auto* cv = cross_validation_of(in.job.spec.task); cv && in.is_host) {
    const auto* curve = std::get_if<schema::LearningCurve>(&in.job.spec.task);
    const std::int64_t times =
        curve ? 1 + std::max<std::int64_t>(5, static_cast<std::int64_t>(curve->trainSizes.size())) : 1;
    const std::int64_t splits = bytes_of(splits_bytes(*cv, n), times, 1);
    plan.peak_bytes += splits, plan.needed_bytes += splits;
    if (splits > peak.bytes) plan.step = cv->splitter == "auto" ? "cross-validation" : cv->splitter, plan.where = "task.crossValidate";
  }
  return plan;
}

std::int64_t mapped_size(const DatasetMeta& meta, std::int64_t n_rows) {
  const std::int64_t value_bytes = meta.is_float32 ? 4 : 8;
  return meta.is_sparse() ? meta.n_entries * (value_bytes + 4) + (n_rows + 1) * 8 : n_rows * meta.n_values_columns * value_bytes;
}

bool wants_value_counts(const CheckedJob& job) {
  const auto wants = [](std::string_view estimator) {
    const CatalogueEntry* const entry = find_estimator(estimator);
    return entry && entry->wants_value_counts;
  };
  if (std::ranges::any_of(job.spec.pipeline, wants, &Step::estimator)) return true;
  const auto brings_one = [&](const ParamChoice& choice) {   // a step that a candidate puts in place of another
    return std::ranges::any_of(choice.values, [&](const schema::Value& value) {
      const auto* step = std::get_if<schema::ValueMap>(&value.data);
      const schema::Value* estimator = step ? find_value(*step, "estimator") : nullptr;
      const auto* name = estimator ? std::get_if<std::string>(&estimator->data) : nullptr;
      return name && wants(*name);
    });
  };
  return std::ranges::any_of(job.candidates.spaces(),
                             [&](const ParamSpace& space) { return std::ranges::any_of(space, brings_one); });
}

std::int64_t memory_for_job(const Context& ctx) {
  const DeviceInfo& device = ctx.device.info();
  if (device.kind == DeviceKind::kCpu) return available_memory();
  const GpuMemory* const memory = gpu_memory(ctx.memory());   // of a GPU others may hold a part
  return memory ? memory->free_bytes() : device.memory_bytes;
}

// A GPU of little memory is asked earlier.
bool is_checked(const Context& ctx, const MemoryPlan& plan) {
  constexpr std::int64_t kShare = 16;
  const DeviceInfo& device = ctx.device.info();
  const bool is_little = device.kind != DeviceKind::kCpu && device.memory_bytes > 0;
  return plan.peak_bytes - plan.mapped_bytes >
         (is_little ? std::min(kUnchecked, device.memory_bytes / kShare) : kUnchecked);
}

void require_memory(const Context& ctx, const MemoryPlan& plan) {
  if (!is_checked(ctx, plan)) return;
  const std::int64_t available = memory_for_job(ctx), most = plan.peak_bytes - plan.mapped_bytes;
  if (most <= available || available == 0) return;
  if (plan.needed_bytes > available) {
    throw schema::Error(
        schema::ErrorCode::kOutOfMemory,
        fmt::format("{} needs at least {} of memory at the peak of this job, {} are available{}", plan.step,
                    in_mib(plan.needed_bytes), in_mib(available), ranks_that_do(plan, available)),
        plan.where);
  }
  if (!plan.columns.empty()) {
    throw schema::Error(schema::ErrorCode::kOutOfMemory,
                        fmt::format("{} would need {} of memory at the peak of this job, {} are available. {}", plan.step, in_mib(most),
                                    in_mib(available), plan.columns),
                        plan.where);
  }
  ctx.warn(fmt::format(
      "{} may need {} of memory at the peak of this job, {} are available: it ends as OUT_OF_MEMORY if they are not enough",
      plan.step, in_mib(most), in_mib(available)));
}

void within_memory(const Context& ctx, const MemoryPlan& plan, const std::function<void()>& work) {
  const std::int64_t available =
      is_checked(ctx, plan) && ctx.device.info().kind == DeviceKind::kCpu ? available_memory() : 0;
  const std::int64_t most = plan.peak_bytes - plan.mapped_bytes;
  if (available == 0) return work();
  const MemoryBound bound(available);
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw schema::Error(schema::ErrorCode::kOutOfMemory,
                        fmt::format("{} took more than the {} of memory that were available; at the peak it may need {}",
                                    plan.step, in_mib(available), in_mib(most)),
                        plan.where);
  }
}

MemoryMeasure::MemoryMeasure(const Context& ctx, const MemoryPlan& plan)
    : predicted_(plan.peak_bytes),
      is_on_(ctx.emit && plan.peak_bytes > kUnchecked && ctx.device.info().kind == DeviceKind::kCpu) {
  if (!is_on_) return;
  reset_peak_memory();
  held_ = process_memory().held;
}

std::int64_t MemoryMeasure::report(const Context& ctx) const {
  if (!is_on_) return 0;
  const std::int64_t measured = std::max<std::int64_t>(0, process_memory().peak - held_);
  ctx.emit(schema::LogEvent{"info",
                            fmt::format("memory: {} predicted at the peak, {} measured", in_mib(predicted_), in_mib(measured))});
  return measured;
}

}   // namespace kedge::engine
