// Comparing model files with their rows.
#include "server/jobs/model_digests.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include "crypto/digest.h"
#include "schemas/error.h"

namespace kedge::server {

void ModelDigests::check(const std::filesystem::path& file, const schema::ModelInfo& model) {
  using schema::Error, schema::ErrorCode;
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) throw Error(ErrorCode::kNotFound, fmt::format("the model '{}' was deleted", model.id));
  if (model.sha256.empty()) return;
  const Stamp stamp{status.st_size, std::filesystem::last_write_time(file), status.st_ino};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = checked_.find(model.id); known != checked_.end() && known->second == stamp) return;
  }
  if (const std::string digest = crypto::file_digest(crypto::DigestKind::kSha256, file); digest != model.sha256)
    throw Error(ErrorCode::kModelCorrupt,
                fmt::format("the file of the model '{}' has changed since it was stored: its SHA-256 is {}, must be {}", model.id,
                            digest, model.sha256));
  const std::lock_guard lock(mutex_);
  checked_[model.id] = stamp;
}

}   // namespace kedge::server
