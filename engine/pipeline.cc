// Builds a pipeline from a job's description and takes a data set through it.
#include "engine/pipeline.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/contributions.h"
#include "engine/estimators/text/documents.h"

#include <fmt/ranges.h>

#include "engine/backend/linked_tables.h"
#include "engine/comm/ranks.h"
#include "engine/core/dates.h"
#include "engine/core/require.h"
#include "engine/job/dealt.h"
#include "engine/job/job_check.h"
#include "engine/job/task_run.h"
#include "engine/memory/column_check.h"
#include "engine/memory/linked_plan.h"
#include "engine/memory/memory_plan.h"
#include "engine/model/stored_model.h"
#include "engine/model_selection/stopwatch.h"
#include "engine/table/own_rows.h"
#include "engine/table/target.h"
#include "engine/table/typed_columns.h"
#include "engine/table/value_counts.h"
#include "engine/version.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

schema::DeviceReport report_of(const DeviceInfo& info) {
  const char* kind = info.kind == DeviceKind::kCpu ? "cpu" : info.kind == DeviceKind::kCuda ? "cuda" : "emulated";
  return {.kind = kind, .name = info.name, .driver = info.driver, .threads = info.threads};
}

void emit_timing(const Context& ctx, const char* phase, double seconds) {
  if (ctx.emit) ctx.emit(schema::TimingEvent{phase, seconds, -1});
}

// Of several targets; otherwise none.
std::vector<schema::TargetColumn> target_columns(const TaskTarget& target) {
  std::vector<schema::TargetColumn> columns;
  for (const TargetOutput& output : target.outputs) columns.push_back({.name = output.name, .classes = output.classes});
  return columns;
}

// What a job may take, and where its tables lie.
struct JobMemory {
  MemoryPlan plan;
  std::int64_t linked_from = 0;   // bytes of a table in host memory, at least; 0: none lies there
  bool is_linked() const { return linked_from > 0; }
};

// Drops tables of earlier runs, the least recently used first, while the plan finds too little memory. `in_use`: how
// many of the most recently used ones this run reads.
void free_for(const Context& ctx, const MemoryPlan& plan, WarmTables& tables, std::size_t in_use) {
  const std::int64_t most = plan.peak_bytes - plan.mapped_bytes;
  while (tables.size() > in_use) {
    const std::int64_t available = memory_for_job(ctx);
    if (available == 0 || most <= available) return;
    tables.shrink(tables.size() - 1);
  }
}

// Whether what is free of the device is enough for the least that the job needs.
bool may_fit(const Context& ctx, const MemoryPlan& plan) {
  const std::int64_t available = is_checked(ctx, plan) ? memory_for_job(ctx) : 0;
  return available == 0 || plan.needed_bytes <= available;
}

}  // namespace

struct Pipeline::Impl {
  CheckedJob job;

  // The name of the single target column, or null where the job has none or several.
  const std::string* target_name(const DatasetMeta& meta, const TaskTarget& target) const {
    if (target.kind == TargetKind::kNone || !job.spec.select.targets.empty()) return nullptr;
    const std::vector<const ColumnInfo*> columns = find_targets(job.spec.select, meta);
    return columns.empty() ? nullptr : &columns[0]->name;
  }

  // Everything but the fitted pipeline. The text of an inline data set is not the model's to give away.
  schema::ModelInfo describe(const Context& ctx, const Selection& selection, const DatasetMeta& meta, const TaskTarget& target,
                             const RunFiles& files) const {
    schema::ModelInfo info{.dataset = job.spec.dataset,
                           .classes = target.classes,
                           .dtype = selection.is_float32 ? "float32" : "float64",
                           .scale = selection.scale,
                           .nSamples = selection.n_rows,
                           .seed = static_cast<std::int64_t>(ctx.seed),
                           .dataDigest = files.data_digest,
                           .version = kVersion,
                           .device = report_of(ctx.device.info()).kind};
    if (auto* text = std::get_if<schema::InlineRef>(&info.dataset.source)) text->csv.clear();
    if (const std::string* name = target_name(meta, target)) info.target = *name;
    info.targets = target_columns(target);
    for (std::size_t j = 0; j < selection.features.size(); ++j) {
      const Feature& feature = selection.features[j];
      const FeatureSource& from = selection.sources[j];
      info.columns.push_back({.name = feature.name,
                              .kind = feature.is_nominal ? "category" : "number",
                              .categories = feature.categories,
                              .type = date_type(from.type) ? from.type : "",
                              .source = from.column});
    }
    info.naValues = job.spec.select.naValues;
    return info;
  }

  // Of the rows that the last step reads, where it is a line, whose contributions are counted from them; else nothing.
  template <class T>
  static std::vector<double> line_means(const Context& ctx, const std::vector<schema::Step>& steps, Chain<T>& chain,
                                        const Samples<T>& X) {
    if (!known_estimator(steps.back().estimator, "pipeline").is_line) return {};
    return column_means(ctx, chain.transformed(ctx, X, chain.size() - 1));
  }

  template <class T>
  void keep_model(const Context& ctx, const Selection& selection, const DatasetFile& data, const DatasetMeta& meta,
                  const TaskTarget& target, const std::vector<schema::Step>& steps, Chain<T>& chain,
                  std::vector<double> means, RunFiles& files) const {
    schema::ModelInfo info = describe(ctx, selection, meta, target, files);
    if (const auto* reader = dynamic_cast<const ReadsTexts*>(&chain.step(0))) {
      for (const std::int64_t j :
           reader->text_columns()) {   // any text will do, and those of the data are not the model's
        schema::ModelColumn& column = info.columns[static_cast<std::size_t>(j)];
        column.kind = "text", column.categories.clear();
      }
    }
    try {
      ModelExtras extras{.column_means = std::move(means), .profile = training_profile(selection, data, info)};
      files.model_bytes = save_model(ctx, files.model_file, steps, chain, std::move(extras), info, files.keep);
      files.model = std::move(info);
    } catch (const schema::Error& error) {
      if (error.code != ErrorCode::kInvalidValue) throw;
      ctx.warn("no model is stored: " + error.message);
    }
  }

  Selection selection_of(const DatasetMeta& meta, const DatasetFile& data) const {
    const StepTraits& first = job.steps.front();
    return select_features(job.spec.select, meta, {.nan = first.accepts_nan, .categories = first.accepts_categories}, &data);
  }

  // Says which column is the target where the job and its data set leave that open.
  void tell_target(const Context& ctx, const DatasetMeta& meta, const TaskTarget& target, schema::Result& result) const {
    if (const std::string* name = target_name(meta, target)) result.target = *name;
    result.targets = target_columns(target);
    const schema::Select& select = job.spec.select;
    const std::vector<const ColumnInfo*> columns = find_targets(select, meta);
    if (columns.empty() || select.target || !select.targets.empty() || names_target(job.spec.dataset)) return;
    ctx.warn(fmt::format("no target is named, so the last column '{}' is {}: select.target names another",
                         columns[0]->name,
                         target.kind == TargetKind::kNone ? "used as it and left out of the features" : "the target"));
  }

  // Says which steps keep a GPU waiting for the host.
  void tell_host_parts(const Context& ctx) const {
    if (ctx.device.traits().uses_host_memory) return;
    for (const schema::Step& step : job.spec.pipeline)
      if (const CatalogueEntry* entry = find_estimator(step.estimator); entry && !entry->info.hostPart.empty())
        ctx.warn(fmt::format("{}: on a GPU the host still computes {}", step.estimator, entry->info.hostPart));
  }

  // The ranks of which each loads its own rows; null: this process loads all.
  Ranks* ranks_of_own_rows(const Context& ctx, const Selection& selection, const DatasetMeta& meta) const {
    Ranks* const ranks = ranks_of_job();
    const bool are_several = ranks && ranks->size() > 1;
    return are_several && reads_own_rows(job.spec) &&
                   can_load_own_rows(ctx.device.traits().uses_host_memory, selection, meta)
               ? ranks
               : nullptr;
  }

  static void tell_own_rows(const Context& ctx, const Selection& selection, std::int64_t held) {
    const std::int64_t all = selection.n_rows * selection.n_cols() * (selection.is_float32 ? 4 : 8);
    if (ctx.emit)
      ctx.emit(schema::LogEvent{
          "info", fmt::format("the first rank loaded {:.1f} of {:.1f} MiB of the table",
                              static_cast<double>(held) / (1 << 20), static_cast<double>(all) / (1 << 20))});
  }

  // Loads the table and does the task.
  template <class T>
  void compute(const Context& ctx, const DatasetFile& data, const DatasetMeta& columns, const Selection& selection,
               const std::shared_ptr<const TaskTarget>& shared_target, Stopwatch& watch,
               std::shared_ptr<Table<T>> table, const JobMemory& memory, const Warm& warm, RunFiles* files,
               schema::Result& result) const {
    const TaskTarget& target = *shared_target;
    tell_host_parts(ctx);
    std::shared_ptr<const OwnRows<T>> own_rows;
    if (Ranks* const ranks = ranks_of_own_rows(ctx, selection, data.meta())) {
      own_rows = OwnRows<T>::load(ctx, selection, data, *ranks);
      table = own_rows->table();
    } else {
      if (!table) {
        table = load_table<T>(ctx, selection, data);
        if (!memory.is_linked()) warm.tables->add(warm.data, selection, table);
      }
      if (!memory.is_linked()) warm.tables->keep_target(job.spec.select, shared_target);
    }
    TaskInput<T> input{.job = job, .table = std::move(table), .target = target, .fit_bytes = memory.plan.peak_bytes};
    const bool keeps_model = files && !files->model_file.empty();
    if (keeps_model || own_rows) {
      input.fitted = [&](const std::vector<schema::Step>& steps, Chain<T>& chain) {
        const RowSumsScope sums(own_rows != nullptr);   // on every rank
        std::vector<double> means = line_means<T>(ctx, steps, chain, {.table = input.table});
        if (keeps_model) keep_model<T>(ctx, selection, data, columns, target, steps, chain, std::move(means), *files);
      };
    }
    result.timings.toDevice = watch.lap();
    emit_timing(ctx, "toDevice", result.timings.toDevice);
    result.classes = target.classes;
    result.nSamples = selection.n_rows, result.nFeatures = selection.n_cols();
    result.dtype = selection.is_float32 ? "float32" : "float64";
    run_task(ctx, input, result);
    if (own_rows) tell_own_rows(ctx, selection, own_rows->held());
  }

  template <class T>
  void run(const Context& ctx, const DatasetFile& data, const DatasetMeta& columns, const Selection& selection,
           Stopwatch& watch, const Warm& warm, RunFiles* files, schema::Result& result) const {
    if (!selection.left_out.empty()) ctx.warn(fmt::format("text columns are left out: {}", fmt::join(selection.left_out, ", ")));
    const Ranks* const own_rows = ranks_of_own_rows(ctx, selection, data.meta());
    std::shared_ptr<Table<T>> table = own_rows ? nullptr : warm.tables->find<T>(warm.data, selection);
    std::shared_ptr<const TaskTarget> shared_target;
    if (table) shared_target = warm.tables->find_target(job.spec.select, job.target_kind);
    if (!shared_target) {
      shared_target = std::make_shared<const TaskTarget>(
          read_target(job.spec.select, data, selection.n_rows, job.target_kind, job.last().info->name, &columns));
    }
    const TaskTarget& target = *shared_target;
    tell_target(ctx, columns, target, result);
    const std::string wide_columns = check_columns(ctx, job, selection, data);
    result.timings.load = watch.lap();
    emit_timing(ctx, "load", result.timings.load);
    if (!table) warm.tables->make_room();
    const bool is_host = ctx.device.info().kind == DeviceKind::kCpu;
    std::optional<bool> has_few_values;
    if (is_host && wants_value_counts(job)) has_few_values = have_few_values(data, selection);
    MemoryInputs inputs{.job = job,
                        .meta = data.meta(),
                        .selection = selection,
                        .target = target,
                        .has_table = table != nullptr,
                        .is_host = is_host,
                        .ranks = own_rows,
                        .has_few_values = has_few_values,
                        .stop = ctx.stop};
    JobMemory memory{.plan = plan_memory(inputs)};
    free_for(ctx, memory.plan, *warm.tables, table ? 1 : 0);
    if (table && !may_fit(ctx, memory.plan) && linked_tables(ctx.device)) {   // beside its table; without it, perhaps
      table.reset(), warm.tables->clear(), inputs.has_table = false;
      memory.plan = plan_memory(inputs);
    }
    memory.plan.columns = wide_columns;
    memory.linked_from = link_tables(ctx, inputs, memory.plan);
    const MemoryPlan& plan = memory.plan;
    require_memory(ctx, plan);
    const LinkScope link(ctx.device, memory.linked_from);
    const MemoryMeasure measure(ctx, plan);
    within_memory(ctx, plan, [&] {
      compute<T>(ctx, data, columns, selection, shared_target, watch, std::move(table), memory, warm, files, result);
    });
    warm.tables->shrink(warm.tables->size());   // what the run made of its table counts
    result.memory = schema::MemoryReport{.neededBytes = plan.needed_bytes,
                                         .predictedBytes = plan.peak_bytes,
                                         .peakBytes = measure.report(ctx)};
  }
};

Pipeline::Pipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

Pipeline Pipeline::build(const schema::JobSpec& spec, std::stop_token stop) {
  return Pipeline(std::unique_ptr<Impl>(new Impl{check_job(spec, {.stop = std::move(stop)})}));
}

schema::Result Pipeline::run(const Context& ctx, const DatasetFile& data, const Warm& warm, RunFiles* files) const {
  require(!impl_->job.steps.empty(), ErrorCode::kInternal, "a task with a stored model has no pipeline to run");
  Stopwatch watch(ctx);
  schema::Result result{.device = report_of(ctx.device.info()), .seed = static_cast<std::int64_t>(ctx.seed), .version = kVersion};
  Context run_ctx = ctx;
  run_ctx.emit = [&](schema::EventBody body) {
    if (const auto* log = std::get_if<schema::LogEvent>(&body); log && log->level == "warning") result.warnings.push_back(log->message);
    if (ctx.emit) ctx.emit(std::move(body));
  };
  WarmTables own;
  const Warm tables = warm.tables ? warm : Warm{.tables = &own};
  Stopwatch load(ctx);
  const std::optional<DatasetMeta> typed = typed_meta(impl_->job.spec.select, data);
  const DatasetMeta& columns = typed ? *typed : data.meta();
  const Selection selection = impl_->selection_of(columns, data);
  if (selection.is_float32) {
    impl_->run<float>(run_ctx, data, columns, selection, load, tables, files, result);
  } else {
    impl_->run<double>(run_ctx, data, columns, selection, load, tables, files, result);
  }
  result.timings.total = watch.lap();
  return result;
}

}  // namespace kedge::engine
