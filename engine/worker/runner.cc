// One job from its command to its report.
#include "engine/worker/runner.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/core/array.h"
#include "engine/core/disk_error.h"
#include "engine/core/stop.h"
#include "engine/faults/fail_point.h"
#include "engine/model/ensemble_model.h"
#include "engine/model/joint_rows.h"
#include "engine/model/model_plan.h"
#include "engine/model/model_task.h"
#include "engine/worker/failpoint.h"
#include "engine/worker/progress_filter.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kModelsKept = 4;
constexpr std::size_t kSmallModelBytes = 256 << 10;   // such a one goes with the report: to create a file takes longer

// Whether the device still moves and adds numbers. An illegal access ends every later call of its context with an
// error; a launch that was refused, or a factorisation that failed, leaves it as it was.
bool computes(Device& device) {
  try {
    const std::vector<double> values{1, 2, 3, 4, 5, 6};
    const Matrix<double> X(device.memory(), 3, 2, values);
    Array<double> sums(device.memory(), 2);
    device.f64().rows->column_sums(X.view(), sums.view());
    device.memory().synchronize();
    return sums.to_host() == std::vector<double>{9, 12};
  } catch (const std::exception&) {
    return false;
  }
}

std::optional<schema::ModelProfile> profile_of(const StoredModel& model) {
  return model.profile() ? std::optional(model.profile()->described(model.info())) : std::nullopt;
}

// What an upload is. The file of another program comes back as the model that it becomes.
schema::AnswerReport uploaded(const Context& ctx, const schema::AskCommand& command) {
  if (std::optional<ForeignModel> model = translated_file(ctx, command.modelPath))
    return {.leaseToken = command.leaseToken, .body = std::move(model->bytes), .model = std::move(model->info)};
  const std::unique_ptr<StoredModel> model = StoredModel::load(ctx, command.modelPath);
  return {.leaseToken = command.leaseToken, .model = model->info(), .profile = profile_of(*model)};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

schema::WorkerReport failed(std::int64_t lease, Error error) {
  return {schema::FailedReport{lease, std::move(error)}};
}

}  // namespace

Runner::FileIdentity Runner::identify(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};   // opening it will say why
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

std::string Runner::FileIdentity::text() const {
  return fmt::format("{}:{}:{}:{}", device, inode, size, modified_ns);
}

const DatasetFile& Runner::open(const std::string& path, const std::string& name) {
  FileIdentity identity = identify(path);
  if (!data_ || mapped_ != identity) {
    forget_data();
    data_.emplace(path);
    data_->name_columns();
    mapped_ = std::move(identity);
  }
  if (!name.empty()) data_->set_name(name);
  return *data_;
}

void Runner::forget_data() {
  data_.reset();
  mapped_ = {};
}

void Runner::forget() {
  forget_data();
  warm_.clear();
  models_.clear();
}

Runner::KeptModel::KeptModel(FileIdentity from, std::string by, std::unique_ptr<StoredModel> loaded)
    : file(std::move(from)), id(std::move(by)), model(std::move(loaded)) {
  if (model->profile()) bins.emplace(*model->profile(), model->info());
}

// By its id where it has one, else by its file. An id without a file is one that an earlier question has loaded.
std::shared_ptr<Runner::KeptModel> Runner::model(const Context& ctx, const std::string& path, const std::string& id) {
  FileIdentity identity = id.empty() ? identify(path) : FileIdentity();
  auto found = std::find_if(models_.begin(), models_.end(),
                            [&](const auto& kept) { return kept->id == id && kept->file == identity; });
  if (found == models_.end()) {
    if (path.empty())
      throw Error(ErrorCode::kUnavailable, fmt::format("the model '{}' is not loaded any more; ask again", id));
    if (models_.size() >= kModelsKept) models_.pop_back();
    models_.push_back(std::make_shared<KeptModel>(std::move(identity), id, StoredModel::load(ctx, path)));
    found = models_.end() - 1;
  }
  std::rotate(models_.begin(), found, found + 1);
  return models_.front();
}

schema::DoneReport Runner::done(const Context& ctx, const schema::RunCommand& command) {
  const Pipeline pipeline = Pipeline::build(command.spec, ctx.stop);
  if (schema::model_of(command.spec.task)) {
    const std::shared_ptr<KeptModel> kept = model(ctx, command.modelPath);
    return {command.leaseToken, run_model_task(ctx, command.spec, *kept->model,
                                               open(command.dataPath, command.dataName), command.outputDir)};
  }
  RunFiles files{.model_file = command.modelPath, .data_digest = command.dataDigest, .keep = kSmallModelBytes};
  const DatasetFile& data = open(command.dataPath, command.dataName);
  schema::Result result = pipeline.run(ctx, data, {.tables = &warm_, .data = mapped_.text()}, &files);
  return {command.leaseToken, std::move(result), std::move(files.model), std::move(files.model_bytes)};
}

// Does what reports by itself, or reports why it failed. False when the device cannot be trusted any more.
template <class Work>
bool Runner::guarded(std::int64_t lease, const Report& report, Work work) {
  const auto out_of_memory = [&] {
    forget();
    report(failed(lease, Error(ErrorCode::kOutOfMemory, "the worker ran out of host memory")));
    return true;
  };
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.code == ErrorCode::kOutOfMemory) forget();
    report(failed(lease, error));
    return error.code != ErrorCode::kInternal || is_well();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {   // more than any vector can hold
    return out_of_memory();
  } catch (const std::exception& error) {
    report(failed(lease, Error(ErrorCode::kInternal, shown(error))));
    return is_well();
  }
}

// The same for work that returns what is to be reported.
template <class Work>
bool Runner::reported(std::int64_t lease, const Report& report, Work work) {
  return guarded(lease, report, [&] { report({work()}); });
}

// After an internal error.
bool Runner::is_well() {
  if (device_.info().kind == DeviceKind::kCpu) return true;
  if (!computes(device_)) return false;
  forget();   // what was half made
  return true;
}

bool Runner::answer(std::span<const schema::AskCommand* const> questions, const Report& report) {
  const Context ctx{.device = device_};
  std::vector<const schema::AskCommand*> waiting(questions.begin(), questions.end());
  while (!waiting.empty()) {
    const schema::AskCommand& first = *waiting.front();
    const bool asks_rows = !first.output.empty();
    const auto is_apart = [&](const schema::AskCommand* other) {
      return other != &first &&
             (!asks_rows || first.model.empty() || other->model != first.model || other->output != first.output);
    };
    const auto others =
        std::stable_partition(waiting.begin(), waiting.end(), [&](const auto* q) { return !is_apart(q); });
    const std::vector<const schema::AskCommand*> group(waiting.begin(), others);
    waiting.erase(waiting.begin(), others);
    const bool is_well = asks_rows ? answer_group(ctx, group, report)
                                   : reported(first.leaseToken, report, [&] { return uploaded(ctx, first); });
    if (!is_well) return false;
  }
  return true;
}

// Of one model and output.
bool Runner::answer_group(const Context& ctx, std::span<const schema::AskCommand* const> questions,
                          const Report& report) {
  std::shared_ptr<KeptModel> kept;
  std::vector<Parsed> parsed;
  const auto lent =
      std::ranges::find_if(questions, [](const schema::AskCommand* question) { return !question->modelPath.empty(); });
  const std::string path = lent == questions.end() ? std::string() : (*lent)->modelPath;
  for (const schema::AskCommand* question : questions) {
    const bool is_well = guarded(question->leaseToken, report, [&] {
      kept = model(ctx, path, question->model);
      parsed.push_back({question, rows_of_body(kept->model->info(), question->contentType, question->body)});
    });
    if (!is_well) return false;
  }
  const bool have_background =
      std::ranges::any_of(parsed, [](const Parsed& one) { return one.rows.background != nullptr; });
  if (parsed.size() > 1 && !have_background && answers_rows_alone(kept->model->info()))
    return answer_joined(ctx, *kept, parsed, report);
  return std::ranges::all_of(parsed, [&](const Parsed& one) { return answer_one(ctx, *kept, one, report); });
}

// With what kedged counts of the question's rows. The profile goes with the first answer.
schema::AnswerReport Runner::answered(KeptModel& kept, const Parsed& parsed, const ModelAnswer& answer,
                                      std::int64_t together, double seconds) {
  schema::AnswerReport report{.leaseToken = parsed.question->leaseToken,
                              .body = encoded_answer(answer, parsed.question->accept),
                              .rows = parsed.rows.n_rows,
                              .together = together,
                              .seconds = seconds};
  if (!kept.bins) return report;
  if (!kept.is_told) report.profile = profile_of(*kept.model), kept.is_told = true;
  BinCounter::Counts counted = kept.bins->count(parsed.rows);
  report.bins = std::move(counted.bins), report.counts = std::move(counted.counts);
  return report;
}

bool Runner::answer_one(const Context& ctx, KeptModel& kept, const Parsed& parsed, const Report& report) {
  const schema::AskCommand& question = *parsed.question;
  return reported(question.leaseToken, report, [&] {
    const auto start = std::chrono::steady_clock::now();
    const ModelAnswer answer = answer_rows(ctx, *kept.model, parsed.rows, question.output);
    return answered(kept, parsed, answer, parsed.rows.n_rows, seconds_since(start));
  });
}

// Where the joint call fails, each question is asked alone and gets its own error.
bool Runner::answer_joined(const Context& ctx, KeptModel& kept, const std::vector<Parsed>& parsed,
                           const Report& report) {
  ModelRows all{.features = parsed.front().rows.features};
  for (const Parsed& one : parsed) {
    all.n_rows += one.rows.n_rows;
    all.values.insert(all.values.end(), one.rows.values.begin(), one.rows.values.end());
  }
  std::optional<ModelAnswer> answer;
  const auto start = std::chrono::steady_clock::now();
  try {
    answer = answer_rows(ctx, *kept.model, all, parsed.front().question->output);
  } catch (const std::exception&) {
    return std::ranges::all_of(parsed, [&](const Parsed& one) { return answer_one(ctx, kept, one, report); });
  }
  const double seconds = seconds_since(start);
  std::int64_t first = 0;
  return std::ranges::all_of(parsed, [&](const Parsed& one) {
    const std::int64_t begin = std::exchange(first, first + one.rows.n_rows);
    return reported(one.question->leaseToken, report, [&] {
      return answered(kept, one, rows_of_answer(*answer, begin, one.rows.n_rows), all.n_rows, seconds);
    });
  });
}

bool Runner::run(const schema::RunCommand& command, std::stop_token stop, const Report& report) {
  failpoint_at_run();
  ProgressFilter filter;
  const auto emit = [&](schema::EventBody body) {
    if (!filter.passes(body, ProgressFilter::Clock::now())) return;
    report({schema::EventReport{command.leaseToken, std::move(body)}});
  };
  std::optional<StopScope> scope;
  if (!KEDGE_CONTROL("deaf-ops")) scope.emplace(stop);
  const Context ctx{.device = device_, .seed = 0, .stop = std::move(stop), .emit = emit};
  return reported(command.leaseToken, report, [&] { return done(ctx, command); });
}

}  // namespace kedge::engine
