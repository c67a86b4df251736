// Stored models: rows in the job store, files in the data directory, questions to a worker of their own.
#include "server/models/models.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>

#include "engine/open_model/open_model.h"
#include "schemas/error.h"
#include "server/jobs/job_service.h"
#include "server/models/drift.h"
#include "server/models/drift_book.h"
#include "server/models/prediction_log.h"
#include "server/models/serving_book.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kMostLogBytesOfTenant = 1 << 30;
constexpr std::string_view kZip("PK\x03\x04");   // how a ZIP begins

fs::path beside_this_program() { return fs::read_symlink("/proc/self/exe").parent_path() / "kedge-worker"; }

class LocalModels final : public Models {
 public:
  LocalModels(JobService& jobs, const fs::path& data_dir, const fs::path& program, AskLimits limits,
              const std::function<void(std::string_view)>& report)
      : jobs_(jobs),
        uploads_(data_dir / "models"),
        delay_(limits.delay),
        serving_(
            data_dir / "serving", [&jobs](const std::string& id) { return jobs.find_model(id).has_value(); }, report),
        drift_(data_dir / "serving"),
        log_(
            data_dir / "serving", [this] { forget_deleted(); },
            [this](const std::string& model) { book_.note_dropped(model); }),
        workers_({.file = program.empty() ? beside_this_program() : program, .temporary = data_dir / "tmp"}, limits) {}

  schema::ModelPage list(std::int64_t page_size, std::string_view page_token, const std::optional<std::string>& tenant) const override {
    return jobs_.list_models(page_size, page_token, tenant);
  }

  schema::ModelInfo find(std::string_view id) const override {
    std::optional<schema::ModelInfo> model = jobs_.find_model(id);
    if (!model) throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", id));
    return std::move(*model);
  }
  fs::path path(std::string_view id) const override { return jobs_.model_file(id); }
  std::unique_ptr<OpenFile> open_form(std::string_view id) override {
    auto file = std::make_unique<OpenFile>(uploads_ / fmt::format("open-{}.part", ++n_uploads_));
    engine::write_open_model(engine::ModelFile(jobs_.model_file(id)), file->path);
    return file;
  }
  void remove(std::string_view id) override {
    jobs_.delete_model(id);
    forget(std::string(id));
  }

  std::unique_ptr<StagedModel> stage(std::string_view file, const std::string& tenant) override {
    if (file.starts_with(kZip)) {
      const std::string scratch = fmt::format("open-{}.part", ++n_uploads_);
      return stage(engine::read_open_model(file, uploads_ / scratch), tenant);
    }
    TenantBytes::Reservation room = jobs_.tenant_bytes().reserve(tenant, file.size());   // before it comes to the disk
    auto staged = std::make_unique<StagedModel>(uploads_ / fmt::format("upload-{}.part", ++n_uploads_), std::move(room));
    write_file(staged->path, file);
    return staged;
  }

  std::shared_ptr<void> load(const StagedModel& model, const std::string& tenant, Loaded loaded) override {
    return workers_.ask(
        {.tenant = tenant}, [path = model.path] { return schema::AskCommand{.modelPath = path}; },
        [loaded = std::move(loaded), translated = model.translated](schema::AnswerReport report,
                                                                    std::exception_ptr error) {
          *translated = std::move(report.body);
          loaded(std::move(report.model).value_or(schema::ModelInfo()), std::move(error));
        });
  }

  schema::ModelInfo add(StagedModel& model, schema::ModelInfo info, const std::string& tenant) override {
    info.job.clear();
    if (!model.translated->empty()) {
      model.room.resize(model.translated->size());
      write_file(model.path, *model.translated);
    }
    model.room.resize(0);   // add_model() counts what it keeps
    return jobs_.add_model(model.path, std::move(info), tenant);
  }

  // The file is compared with its digest by the thread that asks, which reads it anyway.
  std::shared_ptr<void> ask(ModelQuestion question, Answered answered) override {
    const std::string tenant = question.tenant, model = question.model;
    const auto start = std::chrono::steady_clock::now();
    const ServingSettings settings = serving(model);
    AskWorker::Place place{.tenant = tenant,
                           .model = model,
                           .max_rows = settings.max_batch_rows,
                           .delay = std::chrono::microseconds(*settings.max_delay_us)};
    if (place.max_rows > 0) place.rows = count_rows(question.content_type, question.body);
    const std::shared_ptr<LoggedCall> logged = begin_log(question, settings);   // shared with the answer
    auto command = [this, question = std::move(question)]() mutable {
      return schema::AskCommand{.modelPath = jobs_.check_model(question.model),
                                .output = std::move(question.output),
                                .contentType = std::move(question.content_type),
                                .accept = std::move(question.accept),
                                .body = std::move(question.body),
                                .model = question.model};
    };
    return workers_.ask(std::move(place), std::move(command),
                        [this, tenant, model, start, logged, answered = std::move(answered)](
                            schema::AnswerReport report, std::exception_ptr error) {
                          const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
                          book_.note(model, tenant,
                                     {.failed = error != nullptr,
                                      .rows = report.rows,
                                      .together = report.together,
                                      .took = took.count(),
                                      .computed = report.seconds});
                          if (!error) drift_.note(model, report);
                          if (logged) end_log(std::move(*logged), report, error);
                          answered(std::move(report.body), std::move(error));
                        });
  }

  const ModelBook& book() const override { return book_; }

  ServingSettings serving(std::string_view id) const override {
    ServingSettings settings = serving_.find(id);
    if (!settings.max_delay_us) settings.max_delay_us = delay_.count();
    return settings;
  }

  void set_serving(const std::string& id, const ServingSettings& settings) override {
    if (settings.log_fraction > 0) check_room(id, settings.log_max_bytes);
    serving_.set(id, settings);
    if (settings.log_fraction <= 0) log_.remove(id);
    if (!jobs_.find_model(id)) forget(id);   // deleted meanwhile
  }

  std::string log(const std::string& id) override { return log_.read(id); }

  std::shared_ptr<void> drift(schema::ModelInfo model, const std::string& tenant, Drifted drifted) override {
    if (const std::optional<schema::DriftCounts> counts = drift_.find(model.id)) {
      drifted(drift_of(model, *counts), nullptr);
      return nullptr;
    }
    auto command = [this, id = model.id] { return schema::AskCommand{.modelPath = jobs_.check_model(id)}; };
    return workers_.ask({.tenant = tenant}, command,
                        [this, model = std::move(model), drifted = std::move(drifted)](schema::AnswerReport report,
                                                                                       std::exception_ptr error) {
                          if (error) return drifted({}, std::move(error));
                          drift_.learn(model.id, std::move(report.profile));
                          drifted(drift_of(model, drift_.find(model.id).value_or(schema::DriftCounts())), nullptr);
                        });
  }
  void reset_drift(const std::string& id) override { drift_.reset(id); }
  std::optional<double> drift_index(const std::string& id) const override { return drift_.largest_index(id); }

  fs::path artifact(std::string_view job, std::string_view name) const override {
    const std::optional<schema::Job> found = jobs_.find(job);
    if (!found) throw Error(ErrorCode::kNotFound, fmt::format("there is no job '{}'", job));
    const auto is_it = [&](const schema::Artifact& artifact) { return artifact.name == name; };
    if (!found->result || std::none_of(found->result->artifacts.begin(), found->result->artifacts.end(), is_it))
      throw Error(ErrorCode::kNotFound, fmt::format("job {} has no artifact '{}'", job, name));
    return jobs_.files().artifact_path(job, name);
  }

 private:
  // Null where this question is not logged.
  std::shared_ptr<LoggedCall> begin_log(const ModelQuestion& question, const ServingSettings& settings) {
    if (!log_.samples(settings.log_fraction)) return nullptr;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    auto call = std::make_shared<LoggedCall>(
        LoggedCall{.model = question.model,
                   .output = question.output,
                   .content_type = question.content_type,
                   .accept = question.accept,
                   .time_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
    if (static_cast<std::int64_t>(question.body.size()) > settings.log_max_bytes) return call;   // no room: is dropped
    call->body = question.body;
    call->max_bytes = settings.log_max_bytes;
    return call;
  }

  void end_log(LoggedCall call, const schema::AnswerReport& report, const std::exception_ptr& error) {
    if (static_cast<std::int64_t>(report.body.size()) > call.max_bytes) call.max_bytes = 0;
    else call.answer = report.body;
    call.rows = report.rows;
    try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& failure) {
      call.error = failure.what();
    }
    log_.add(std::move(call));
  }

  // Logs are no part of a tenant's quota of models, so they have a bound of their own.
  void check_room(const std::string& id, std::int64_t bytes) {
    const std::optional<std::string> tenant = jobs_.model_tenant(id);
    for (const auto& [model, settings] : serving_.all())
      if (model != id && settings.log_max_bytes > 0 && jobs_.model_tenant(model) == tenant)
        bytes += settings.log_max_bytes;
    if (bytes > kMostLogBytesOfTenant)
      throw Error(ErrorCode::kConflict,
                  fmt::format("the logs of your models could take {} bytes, at most {} may be; turn some off", bytes,
                              kMostLogBytesOfTenant),
                  "log.maxBytes");
  }

  void forget(const std::string& id) noexcept {
    serving_.forget(id);
    drift_.forget(id);
    log_.remove(id);
  }
  // Of those that were removed because there were too many.
  void forget_deleted() {
    for (const auto& [model, settings] : serving_.all())
      if (!jobs_.owned_model(model)) forget(model);
    drift_.sweep([this](const std::string& model) { return jobs_.owned_model(model) != nullptr; });
  }

  JobService& jobs_;
  const fs::path uploads_;
  std::atomic<int> n_uploads_ = 0;
  const std::chrono::microseconds delay_;   // of models without settings
  ServingBook serving_;
  ModelBook book_;
  DriftBook drift_;
  PredictionLog log_;
  AskPool workers_;   // last: its threads use the others
};

}  // namespace

std::unique_ptr<Models> make_models(JobService& jobs, fs::path data_dir, fs::path worker_program, AskLimits limits,
                                    const std::function<void(std::string_view)>& report) {
  return std::make_unique<LocalModels>(jobs, data_dir, worker_program, limits, report);
}

}  // namespace kedge::server
