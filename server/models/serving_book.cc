// Keeping how models are served: see serving_book.h.
#include "server/models/serving_book.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/jobs/job_files.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using schema::ErrorCode;

// A file or a folder: a rename is on disk only when its folder is.
void sync(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_done = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_done)
    throw Error(ErrorCode::kInternal,
                fmt::format("cannot sync {}: {}", path.filename().string(), std::generic_category().message(error)));
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}   // namespace

ServingBook::ServingBook(fs::path folder, const std::function<bool(const std::string& model)>& has_model,
                         const std::function<void(std::string_view)>& report)
    : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot create {}: {}", folder_.string(), error.message()));
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string model = entry.path().stem();
    const std::string kind = entry.path().extension();
    if (!has_model(model) || (kind != ".json" && kind != ".log" && kind != ".old" && kind != ".drift")) {
      leftovers.push_back(entry.path());
      continue;
    }
    if (kind != ".json") continue;
    try {
      settings_[model] = serving_settings_of(read(entry.path()));
    } catch (const Error& error) {
      report(fmt::format("{} is damaged, so the model is served by the defaults: {}{}{}", entry.path().string(),
                         error.where, error.where.empty() ? "" : ": ", error.message));
    }
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

ServingSettings ServingBook::find(std::string_view model) const {
  const std::lock_guard lock(mutex_);
  const auto found = settings_.find(model);
  return found == settings_.end() ? ServingSettings() : found->second;
}

std::map<std::string, ServingSettings, std::less<>> ServingBook::all() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

// Written beside the file and renamed, so that a crash leaves either the settings before or these.
void ServingBook::set(const std::string& model, const ServingSettings& settings) {
  const std::lock_guard one(writing_);
  const fs::path file = file_of(model), part = file.string() + ".part";
  write_file(part, schema::value_to_json(to_value(settings)));
  sync(part);
  std::error_code error;
  fs::rename(part, file, error);
  if (error) throw Error(ErrorCode::kInternal, fmt::format("cannot rename {}: {}", part.string(), error.message()));
  sync(folder_);
  const std::lock_guard lock(mutex_);
  settings_[model] = settings;
}

void ServingBook::forget(std::string_view model) noexcept {
  const std::lock_guard one(writing_);
  const std::lock_guard lock(mutex_);
  const auto found = settings_.find(model);
  if (found == settings_.end()) return;
  settings_.erase(found);
  std::error_code ignored;   // the next start removes what is left
  fs::remove(file_of(model), ignored);
}

fs::path ServingBook::file_of(std::string_view model) const {
  return folder_ / fmt::format("{}.json", model);
}

}   // namespace kedge::server
