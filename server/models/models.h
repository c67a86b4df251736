// Stored models as the API sees them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/model.h"

namespace kedge::server {

class JobService;

// Thread safe; calls may block for milliseconds, a prediction for as long as it takes.
class Models {
 public:
  virtual ~Models() = default;
  // tenant: only this one's models; unset: all.
  virtual schema::ModelPage list(std::int64_t page_size, std::string_view page_token, const std::optional<std::string>& tenant = {}) const = 0;
  virtual schema::ModelInfo find(std::string_view id) const = 0;                // kNotFound
  virtual std::filesystem::path path(std::string_view id) const = 0;            // of its file; kNotFound
  virtual void remove(std::string_view id) = 0;                                 // kNotFound
  // Listed only after a worker has loaded it: kModelCorrupt says why one is not.
  virtual schema::ModelInfo upload(std::string_view file, const std::string& tenant = {}) = 0;
  // What the model says of the rows in `body`, as `accept` wants it. Errors: kNotFound, and those of StoredModel::answer().
  virtual std::string ask(std::string_view id, std::string_view output, std::string_view content_type, std::string body,
                          std::string_view accept) = 0;
  // A file that a job has left. Errors: kNotFound.
  virtual std::filesystem::path artifact(std::string_view job, std::string_view name) const = 0;
};

// Borrows the service.
std::unique_ptr<Models> make_models(JobService& jobs, std::filesystem::path data_dir, std::filesystem::path worker_program);

}  // namespace kedge::server
