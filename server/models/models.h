// Stored models as the API sees them.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "schemas/model.h"
#include "server/data/tenant_bytes.h"
#include "server/models/ask_pool.h"
#include "server/models/model_figures.h"
#include "server/models/serving_settings.h"

namespace kedge::server {

class JobService;

// A question to a model, and its tenant.
struct ModelQuestion {
  std::string model, output, content_type, body, accept, tenant;
};

// A model file that is not listed yet; removed with this object, unless it is listed by then.
struct StagedModel {
  std::filesystem::path path;
  TenantBytes::Reservation room;   // its place in its tenant's quota until it is listed
  // Of another program's file, once it is loaded: the model that it becomes. Shared with the question of load(), whose
  // answer may come when this object is gone.
  std::shared_ptr<std::string> translated = std::make_shared<std::string>();
  ~StagedModel() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

// A file that is made for one answer, and removed with this object.
struct OpenFile {
  std::filesystem::path path;
  ~OpenFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

// Thread safe; calls may block for milliseconds, those that read or write a whole model for as long as that takes. None
// waits for a worker: its answer comes later, on a thread of its own, to a function that must not block. What
// was begun is dropped if the handle is destroyed before its turn. Calls that return a handle throw kTooManyRequests or
// kUnavailable where too many wait already.
class Models {
 public:
  virtual ~Models() = default;
  // tenant: only this one's models; unset: all.
  virtual schema::ModelPage list(std::int64_t page_size, std::string_view page_token, const std::optional<std::string>& tenant = {}) const = 0;
  virtual schema::ModelInfo find(std::string_view id) const = 0;                // kNotFound
  virtual std::filesystem::path path(std::string_view id) const = 0;            // of its file; kNotFound
  // Its open form (engine/open_model/open_model.h), made anew; a file that goes with what is returned. Errors:
  // kNotFound, kModelCorrupt.
  virtual std::unique_ptr<OpenFile> open_form(std::string_view id) = 0;
  virtual void remove(std::string_view id) = 0;                                 // kNotFound
  // An upload, in either form or of another program: its file; what a worker says of it, which has to load it, or
  // kModelCorrupt; the model in the list.
  virtual std::unique_ptr<StagedModel> stage(std::string_view file, const std::string& tenant) = 0;   // schema::QuotaExceeded
  using Loaded = std::function<void(schema::ModelInfo, std::exception_ptr)>;
  virtual std::shared_ptr<void> load(const StagedModel& model, const std::string& tenant, Loaded loaded) = 0;   // `model` outlives the handle
  virtual schema::ModelInfo add(StagedModel& model, schema::ModelInfo info, const std::string& tenant) = 0;
  // The model's answer for the rows in `body`, in the form of `accept`. Errors: kNotFound, and those of
  // StoredModel::answer().
  using Answered = std::function<void(std::string, std::exception_ptr)>;
  virtual std::shared_ptr<void> ask(ModelQuestion question, Answered answered) = 0;
  virtual const ModelBook& book() const = 0;   // what was asked of each
  // How a model is served. A change returns when it is on the disk, and holds for the next question.
  virtual ServingSettings serving(std::string_view id) const = 0;   // complete: defaults where nothing was set
  // Errors: kConflict when the logs of the tenant's models could take too much.
  virtual void set_serving(const std::string& id, const ServingSettings& settings) = 0;
  // What was logged of a model's questions: JSON lines, the oldest first.
  virtual std::string log(const std::string& id) = 0;
  // How the rows that the model was asked about differ from those that it was fitted on. The worker is asked for the
  // model's profile where that is not known yet.
  using Drifted = std::function<void(schema::ModelDrift, std::exception_ptr)>;
  virtual std::shared_ptr<void> drift(schema::ModelInfo model, const std::string& tenant, Drifted drifted) = 0;
  virtual void reset_drift(const std::string& id) = 0;                          // counting begins again
  virtual std::optional<double> drift_index(const std::string& id) const = 0;   // ModelDrift::psi of one asked lately
  // A file that a job has left. Errors: kNotFound.
  virtual std::filesystem::path artifact(std::string_view job, std::string_view name) const = 0;
};

// Borrows the service. `report` hears of files that are damaged and left out.
std::unique_ptr<Models> make_models(JobService& jobs, std::filesystem::path data_dir,
                                    std::filesystem::path worker_program, AskLimits limits,
                                    const std::function<void(std::string_view)>& report);

}  // namespace kedge::server
