// Asks a stored model for the rows of a data set.
#include "engine/model_task.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/core/require.h"
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
  if (!is_done) throw Error(ErrorCode::kInternal, fmt::format("write {}: {}", path.string(), std::generic_category().message(error)));
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

}  // namespace

schema::Result run_model_task(const Context& ctx, const schema::JobSpec& spec, StoredModel& model, const DatasetFile& data,
                              const std::filesystem::path& output_dir) {
  Stopwatch total(ctx), watch(ctx);
  const DeviceInfo& device = ctx.device.info();
  schema::Result result{.nFeatures = static_cast<std::int64_t>(model.info().columns.size()),
                        .device = {.kind = kind_of(device), .name = device.name, .driver = device.driver, .threads = device.threads},
                        .seed = model.info().seed,
                        .version = kVersion};
  Context run_ctx = ctx;
  run_ctx.emit = [&](schema::EventBody body) {
    if (const auto* log = std::get_if<schema::LogEvent>(&body); log && log->level == "warning") result.warnings.push_back(log->message);
    if (ctx.emit) ctx.emit(std::move(body));
  };
  result.dtype = model.info().dtype, result.classes = model.info().classes;
  const ModelRows rows = rows_of_dataset(model.info(), data, row_count(spec.select, data.meta()));
  result.nSamples = rows.n_rows;
  result.timings.load = watch.lap();
  const auto* predict = std::get_if<schema::Predict>(&spec.task);
  const ModelAnswer answer = model.answer(run_ctx, rows, predict ? predict->output : "transform");
  (predict ? result.timings.predict : result.timings.transform) = watch.lap();
  const std::string& format = predict ? predict->format : std::get<schema::Transform>(spec.task).format;
  const std::string bytes = encoded_answer(answer, format == "csv" ? "text/csv" : "application/x-npy");
  const std::string name = fmt::format("{}.{}", predict ? "predictions" : "transformed", format);
  write_file(output_dir / name, bytes);
  result.artifacts = {{.name = name, .bytes = static_cast<std::int64_t>(bytes.size())}};
  result.timings.total = total.lap();
  return result;
}

}  // namespace kedge::engine
