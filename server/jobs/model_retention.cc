// How many bytes of models are kept: see model_retention.h.
#include "server/jobs/model_retention.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "schemas/error.h"
#include "server/store/registry_statements.h"

namespace kedge::server {

struct ModelRetention::Kept {
  std::string id, tenant;
  std::int64_t bytes = 0;
  std::time_t used = 0;   // seconds since 1970
};

namespace {

constexpr std::time_t kExactness = 60;   // s, of the time of the last use

// Of a model whose file is not there yet, now.
std::time_t last_use(const std::filesystem::path& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 ? std::max(status.st_atime, status.st_mtime) : std::time(nullptr);
}

bool exceeds(std::int64_t bytes, std::int64_t most) { return most > 0 && bytes > most; }

}  // namespace

ModelRetention::ModelRetention(const Store& store, const JobFiles& files, ModelBounds bounds,
                               std::function<void(const std::string& id)> remove)
    : store_(store), files_(files), remove_(std::move(remove)), periodic_(bounds, [this] { sweep(); }) {}

void ModelRetention::note_use(const std::filesystem::path& file) noexcept {
  if (std::time(nullptr) - last_use(file) < kExactness) return;
  const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);   // where that fails, it counts as used when it was stored
}

std::vector<ModelRetention::Kept> ModelRetention::kept_models(ModelBounds bounds) const {
  constexpr std::int64_t kPage = 500;
  std::vector<Kept> kept;
  std::set<std::string> registered;
  store_.read_registry([&](RegistryReader& registry) { registered = registry.registered_models(); });
  std::string token;
  do {
    const schema::ModelPage page = store_.list_models(kPage, token);
    for (const schema::ModelInfo& model : page.models) {
      if (model.job.empty() || registered.contains(model.id)) continue;   // an upload, or wanted under a name
      kept.push_back({.id = model.id, .bytes = model.bytes, .used = last_use(files_.model_path(model.id))});
      if (bounds.tenant_bytes > 0) kept.back().tenant = store_.model_tenant(model.id).value_or("");
    }
    token = page.nextPageToken;
  } while (!token.empty());
  std::ranges::sort(kept, {}, [](const Kept& model) { return std::pair(model.used, model.id); });
  return kept;
}

void ModelRetention::sweep() {
  const ModelBounds bounds = periodic_.options();
  if (bounds.all_bytes <= 0 && bounds.tenant_bytes <= 0) return;
  const std::vector<Kept> models = kept_models(bounds);
  std::int64_t all = 0;
  std::map<std::string, std::int64_t> of_tenant;
  for (const Kept& model : models) all += model.bytes, of_tenant[model.tenant] += model.bytes;
  const std::time_t young = std::time(nullptr) - bounds.young.count();
  for (const Kept& model : models) {
    if (model.used > young) return;   // as are those that follow: a client has just made it, or works with it
    std::int64_t& tenants = of_tenant[model.tenant];
    if (!exceeds(all, bounds.all_bytes) && !exceeds(tenants, bounds.tenant_bytes)) continue;
    try {
      remove_(model.id);
    } catch (const schema::Error& error) {
      using enum schema::ErrorCode;   // its owner has deleted or registered it meanwhile
      if (error.code != kNotFound && error.code != kConflict) throw;
    }
    all -= model.bytes, tenants -= model.bytes;
  }
}

}  // namespace kedge::server
