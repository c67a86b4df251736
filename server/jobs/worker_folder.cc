// A worker's own folder, and the files that are lent to it: see worker_folder.h.
#include "server/jobs/worker_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "schemas/error.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;

void sync_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_done = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_done) throw fs::filesystem_error("sync", path, std::error_code(error, std::generic_category()));
}

// For folders of the data directory that are on different disks.
void copy_synced(const fs::path& from, const fs::path& to) {
  if (!fs::is_directory(from)) {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing);
    return sync_file(to);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) copy_synced(entry.path(), to / entry.path().filename());
}

void move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error == std::errc::cross_device_link) {
    copy_synced(from, to);
    fs::remove_all(from);
  }
}

}  // namespace

WorkerFolder::WorkerFolder(const fs::path& parent) {
  std::error_code ignored;
  fs::create_directories(parent, ignored);
  std::string name = (parent / "worker-XXXXXX").string();   // mkdtemp: for this user alone
  if (!::mkdtemp(name.data()))
    throw schema::Error(schema::ErrorCode::kUnavailable, fmt::format("cannot make a directory for a worker: {}", std::generic_category().message(errno)));
  path_ = fs::absolute(name);
}

WorkerFolder::~WorkerFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void WorkerFolder::redirect(schema::RunCommand& command) {
  const fs::path model = path_ / "model", artifacts = path_ / "artifacts";
  if (command.modelPath == model || command.outputDir == artifacts) return;
  std::error_code ignored;   // the run will say what it cannot write
  if (!model_.empty()) fs::remove(model, ignored);   // of a run that failed
  if (!artifacts_.empty()) fs::remove_all(artifacts, ignored);
  const bool asks_a_model = schema::model_of(command.spec.task) != nullptr;
  model_ = asks_a_model ? fs::path() : fs::path(command.modelPath);
  artifacts_ = command.outputDir;
  if (!model_.empty()) command.modelPath = model;
  if (artifacts_.empty()) return;
  fs::create_directory(artifacts, ignored);
  command.outputDir = artifacts;
}

void WorkerFolder::deliver() noexcept try {
  if (!model_.empty()) move(path_ / "model", model_);   // a small model has no file
  if (!artifacts_.empty()) move(path_ / "artifacts", artifacts_);
  model_.clear(), artifacts_.clear();
} catch (const std::exception&) {   // a failure of the disk: publishing then reports the missing file
}

FilesToLend::FilesToLend(schema::WorkerCommand& command, How how) {
  if (how == How::kByPath) return;
  if (auto* run = std::get_if<schema::RunCommand>(&command.body)) {
    if (schema::model_of(run->spec.task)) open_all({&run->dataPath, &run->modelPath});
    else open_all({&run->dataPath});
    run->lentFiles = static_cast<std::uint8_t>(descriptors_.size());
  } else if (auto* ask = std::get_if<schema::AskCommand>(&command.body)) {
    if (!ask->modelPath.empty()) open_all({&ask->modelPath});
    ask->lentFiles = static_cast<std::uint8_t>(descriptors_.size());
  }
}

FilesToLend::~FilesToLend() { close_all(); }

void FilesToLend::close_all() {
  for (const int descriptor : descriptors_) ::close(descriptor);
  descriptors_.clear();
}

// All of them or none: the worker takes them in order.
void FilesToLend::open_all(std::initializer_list<const std::string*> paths) {
  for (const std::string* path : paths) {
    const int fd = ::open(path->c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return close_all();
    descriptors_.push_back(fd);
  }
}

}  // namespace kedge::server
