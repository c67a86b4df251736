// Renames, flushes and leftovers: see job_files.h.
#include "server/jobs/job_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "engine/core/disk_error.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kModelSuffix = ".kedge", kPartSuffix = ".part";

std::string part_name(const std::string& job, std::int64_t lease) { return fmt::format("{}.{}{}", job, lease, kPartSuffix); }

[[noreturn]] void refuse(const char* what, const fs::path& path, const std::error_code& error) {
  throw schema::Error(engine::disk_error(error.value()), fmt::format("{} {}: {}", what, engine::shown(path), error.message()));
}

template <class Work>
auto told(const char* what, const fs::path& path, Work work) {
  try {
    return work();
  } catch (const fs::filesystem_error& error) {
    refuse(what, path, error.code());
  }
}

// A file or a folder. A rename is on disk only when its folder is.
void sync(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_done = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_done) refuse("sync", path, {error, std::generic_category()});
}

void move(const fs::path& from, const fs::path& to) {
  told("rename", from, [&] { fs::rename(from, to); });
}

void remove_unless(const fs::path& folder, const std::function<bool(const fs::path&)>& is_known) {
  std::vector<fs::path> orphans;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!is_known(entry.path())) orphans.push_back(entry.path());
  for (const fs::path& orphan : orphans) fs::remove_all(orphan);
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code gone;   // a file may be removed meanwhile
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, gone)) {
    const std::uintmax_t size = entry.file_size(gone);
    if (!gone) sum += size;
  }
  return sum;
}

}  // namespace

void write_file(const fs::path& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool is_well = fd >= 0;
  while (is_well && !bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    is_well = written >= 0;
    if (is_well) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_well) refuse("write", path, {error, std::generic_category()});
}

JobFiles::JobFiles(fs::path data_dir) : models_(data_dir / "models"), results_(data_dir / "results") {
  told("create", models_, [&] { fs::create_directories(models_), fs::create_directories(results_); });
}

void JobFiles::remove_orphans(const std::function<bool(const std::string&)>& has_model,
                              const std::function<bool(const std::string&)>& has_result) const {
  told("clear", models_, [&] {
    remove_unless(models_, [&](const fs::path& path) { return path.extension() == kModelSuffix && has_model(path.stem().string()); });
    remove_unless(results_, [&](const fs::path& path) { return path.extension() != kPartSuffix && has_result(path.filename().string()); });
  });
}

bool JobFiles::leaves_files(const schema::Task& task) {
  return !std::holds_alternative<schema::CrossValidate>(task) && !std::holds_alternative<schema::FitScore>(task);
}

fs::path JobFiles::unfinished_model(const std::string& job, std::int64_t lease) const { return models_ / part_name(job, lease); }

fs::path JobFiles::folder_of(const std::string& job, std::int64_t lease) const { return results_ / part_name(job, lease); }

fs::path JobFiles::make_folder(const std::string& job, std::int64_t lease) const {
  const fs::path folder = folder_of(job, lease);
  told("create", folder, [&] { fs::create_directory(folder); });
  return folder;
}

void JobFiles::discard(const std::string& job, std::int64_t lease) const noexcept {
  std::error_code ignored;   // what stays is removed at the next start
  fs::remove(unfinished_model(job, lease), ignored);
  fs::remove_all(folder_of(job, lease), ignored);
}

void JobFiles::publish_artifacts(const std::string& job, std::int64_t lease) const {
  const fs::path folder = folder_of(job, lease);
  sync(folder);
  move(folder, results_ / job);
  sync(results_);
}

void JobFiles::retract(const std::string& job, std::int64_t lease, const std::string& model) const noexcept {
  discard(job, lease);
  std::error_code ignored;   // as there
  if (!model.empty()) fs::remove(model_path(model), ignored);
  fs::remove_all(results_ / job, ignored);
}

std::map<std::string, std::uint64_t> JobFiles::artifact_bytes() const {
  std::map<std::string, std::uint64_t> bytes;
  for (const fs::directory_entry& entry : fs::directory_iterator(results_))
    if (entry.path().extension() != kPartSuffix) bytes[entry.path().filename()] = bytes_in(entry.path());
  return bytes;
}

std::uint64_t JobFiles::artifact_bytes_of(const std::string& job) const { return bytes_in(results_ / job); }

std::uint64_t JobFiles::unfinished_bytes(const std::string& job, std::int64_t lease) const { return bytes_in(folder_of(job, lease)); }

fs::path JobFiles::model_path(std::string_view id) const { return models_ / fmt::format("{}{}", id, kModelSuffix); }

fs::path JobFiles::artifact_path(std::string_view job, std::string_view name) const { return results_ / job / name; }

// The name before the sync: a journal then takes it with the file, in one commit, and the folder's sync finds nothing more to do. A crash in
// between leaves a file that no row knows.
void JobFiles::place_model(const fs::path& file, std::string_view id) const { move(file, model_path(id)); }

void JobFiles::write_model(std::string_view id, std::string_view bytes) const {
  const fs::path part = models_ / fmt::format("{}{}", id, kPartSuffix);
  write_file(part, bytes);
  place_model(part, id);
}

void JobFiles::sync_model(std::string_view id) const { sync(model_path(id)); }

void JobFiles::sync_models() const { sync(models_); }

std::string JobFiles::model_id_of(std::string_view job) { return "mdl_" + std::string(job.substr(job.find('_') + 1)); }

}  // namespace kedge::server
