// Asks a stored model for the rows of a data set.
#include "engine/model/model_task.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "engine/comm/dealt_blocks.h"
#include "engine/core/file_output.h"
#include "engine/core/require.h"
#include "engine/estimators/host_answers.h"
#include "engine/estimators/memory_need.h"
#include "engine/model/dealt_answer.h"
#include "engine/model/ensemble_model.h"
#include "engine/model/graph_model.h"
#include "engine/model/model_plan.h"
#include "engine/model_selection/stopwatch.h"
#include "engine/version.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool is_done = fd >= 0;
  while (is_done && !bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    is_done = written >= 0;
    if (is_done) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  is_done = is_done && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_done) throw write_failure(path, error);
}

std::int64_t row_count(const schema::Select& select, const DatasetMeta& meta) {
  const std::int64_t n_rows = select.rows.value_or(meta.n_rows);
  if (n_rows > meta.n_rows) {
    throw Error(ErrorCode::kInvalidValue, fmt::format("rows is {}, but {} has {}", n_rows, meta.name, meta.n_rows), "select.rows");
  }
  require(n_rows >= 1, ErrorCode::kBadData, "{} has no rows", meta.name);
  return n_rows;
}

const char* kind_of(const DeviceInfo& info) {
  return info.kind == DeviceKind::kCpu ? "cpu" : info.kind == DeviceKind::kCuda ? "cuda" : "emulated";
}

std::string_view output_of(const schema::Task& task) {
  const auto* predict = std::get_if<schema::Predict>(&task);
  return predict ? std::string_view(predict->output) : "transform";
}

// Says which steps keep a GPU waiting for the host. The trees of other programs' models are summed up there, and the
// rest is the host's.
void tell_host_answers(const Context& ctx, const schema::ModelInfo& info) {
  if (ctx.device.traits().uses_host_memory) return;
  const auto tell = [&](std::string_view step, std::string_view part) {
    ctx.warn(fmt::format("{}: on a GPU the host still computes {}", step, part));
  };
  for (const schema::Step& step : info.pipeline) {
    if (is_tree_ensemble(info)) tell(step.estimator, "the link of its answers");
    else if (is_program(info)) tell(step.estimator, "all but the sums of trees");
    else if (const std::string_view part = host_answer(step.estimator); !part.empty()) tell(step.estimator, part);
  }
}

// Rows that are asked at once: on the host no more than a block of those that ranks divide.
std::int64_t tile_of_job(const Context& ctx, const schema::ModelInfo& model, std::int64_t n_rows) {
  const bool may_be_dealt = ctx.device.info().kind == DeviceKind::kCpu && n_rows >= kLeastDealtRows;
  return may_be_dealt ? std::min(tile_rows(model), block_rows(n_rows)) : tile_rows(model);
}

// Asks the model tile by tile; the seconds go into `timings`.
ModelAnswer ask(const Context& ctx, const schema::Task& task, StoredModel& model, const DatasetRows& rows,
                std::int64_t n_rows, std::int64_t tile_size, schema::Timings& timings) {
  Stopwatch watch(ctx);
  double& asking = std::holds_alternative<schema::Predict>(task) ? timings.predict : timings.transform;
  const auto load = [&](std::int64_t first, std::int64_t count) {
    asking += watch.lap();
    ModelRows tile = rows.rows(first, count);
    timings.load += watch.lap();
    return tile;
  };
  ModelAnswer answer = dealt_answer(ctx, model, n_rows, tile_size, output_of(task), load);
  asking += watch.lap();
  return answer;
}

schema::Artifact write_answer(const schema::Task& task, const ModelAnswer& answer, const std::filesystem::path& output_dir) {
  const auto* predict = std::get_if<schema::Predict>(&task);
  const std::string& format = predict ? predict->format : std::get<schema::Transform>(task).format;
  const std::string bytes = encoded_answer(answer, format == "csv" ? "text/csv" : "application/x-npy");
  std::error_code failure;   // a disk without room for the folder is named as one without room for the file
  std::filesystem::create_directories(output_dir, failure);
  if (failure) throw write_failure(output_dir, failure.value());
  const std::string name = fmt::format("{}.{}", predict ? "predictions" : "transformed", format);
  write_file(output_dir / name, bytes);
  return {.name = name, .bytes = static_cast<std::int64_t>(bytes.size())};
}

}  // namespace

schema::Result run_model_task(const Context& ctx, const schema::JobSpec& spec, StoredModel& model, const DatasetFile& data,
                              const std::filesystem::path& output_dir) {
  Stopwatch total(ctx);
  const DeviceInfo& device = ctx.device.info();
  schema::Result result{.nFeatures = static_cast<std::int64_t>(model.info().columns.size()),
                        .device = {.kind = kind_of(device), .name = device.name, .driver = device.driver, .threads = device.threads},
                        .seed = model.info().seed,
                        .version = kVersion};
  Context run_ctx = ctx;
  run_ctx.emit = [&](schema::EventBody body) {
    if (const auto* log = std::get_if<schema::LogEvent>(&body); log && log->level == "warning") {
      if (std::ranges::count(result.warnings, log->message) > 0) return;   // another tile has said it
      result.warnings.push_back(log->message);
    }
    if (ctx.emit) ctx.emit(std::move(body));
  };
  result.dtype = model.info().dtype, result.classes = model.info().classes;
  result.targets = model.info().targets;
  result.nSamples = row_count(spec.select, data.meta());
  const bool is_host = device.kind == DeviceKind::kCpu;
  const std::int64_t tile = tile_of_job(ctx, model.info(), result.nSamples);
  const Ranks* const ranks = ranks_of_job();
  const AskedRows own = own_asked_rows(result.nSamples, tile);
  const std::int64_t n_own = own.end - own.begin;
  std::optional<RankShare> share;
  if (ranks) share = {.n_rows = n_own, .collects = ranks->is_first()};
  const MemoryPlan plan =
      plan_answer({.model = model.info(),
                   .n_rows = result.nSamples,
                   .output = output_of(spec.task),
                   .rows_held_bytes = data.meta().is_sparse() ? bytes_of(n_own, result.nFeatures, 8) : 0,
                   .mapped_bytes = is_host ? mapped_size(data.meta(), n_own) : 0,
                   .is_host = is_host,
                   .tile = tile,
                   .share = share});
  require_memory(run_ctx, plan);
  tell_host_answers(run_ctx, model.info());
  const MemoryMeasure measure(run_ctx, plan);
  within_memory(run_ctx, plan, [&] {
    const DatasetRows rows(model.info(), data, own.end, own.begin);
    const ModelAnswer answer = ask(run_ctx, spec.task, model, rows, result.nSamples, tile, result.timings);
    if (!ranks || ranks->is_first()) result.artifacts = {write_answer(spec.task, answer, output_dir)};
  });
  result.memory = schema::MemoryReport{.neededBytes = plan.needed_bytes,
                                       .predictedBytes = plan.peak_bytes,
                                       .peakBytes = measure.report(run_ctx)};
  result.timings.total = total.lap();
  return result;
}

}  // namespace kedge::engine
