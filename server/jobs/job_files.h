// The files that jobs leave: stored models and artifacts, published by renames so that no reader sees one half made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "schemas/job.h"

namespace kedge::server {

// All of a file, for this user alone; what is there is replaced, not at once. Errors: kUnavailable with the system's words.
void write_file(const std::filesystem::path& path, std::string_view bytes);

// <data-dir>/models/ID.kedge and <data-dir>/results/JOB/NAME. A worker writes models/JOB.LEASE.part or into results/JOB.LEASE.part; nothing
// there counts until publish(). Thread safe, as the file system is. Errors: kUnavailable with the system's words.
class JobFiles {
 public:
  explicit JobFiles(std::filesystem::path data_dir);   // creates both folders

  // Removes unfinished work, and what no row of the store knows: the leftovers of a crash. Before the first attempt.
  void remove_orphans(const std::function<bool(const std::string&)>& has_model, const std::function<bool(const std::string&)>& has_result) const;

  // Whether a task can leave files: a model, or artifacts where it asks one.
  static bool leaves_files(const schema::Task& task);
  // Of an attempt: where its model goes, which is not there yet, and an empty folder for its artifacts.
  std::filesystem::path unfinished_model(const std::string& job, std::int64_t lease) const;
  std::filesystem::path make_folder(const std::string& job, std::int64_t lease) const;
  void discard(const std::string& job, std::int64_t lease) const noexcept;
  // The artifacts that the attempt left take their final place, and are on disk when this returns. The row that makes them known comes after.
  // Cost: the disk's, so not under a lock.
  void publish_artifacts(const std::string& job, std::int64_t lease) const;
  // Removes all of it, published or not.
  void retract(const std::string& job, std::int64_t lease, const std::string& model) const noexcept;

  // Bytes of the artifacts of each job that has left some, or of one.
  std::map<std::string, std::uint64_t> artifact_bytes() const;
  std::uint64_t artifact_bytes_of(const std::string& job) const;
  std::uint64_t unfinished_bytes(const std::string& job, std::int64_t lease) const;   // of the artifacts that the attempt has left

  std::filesystem::path model_path(std::string_view id) const;
  std::filesystem::path artifact_path(std::string_view job, std::string_view name) const;
  // A finished file becomes the model of this id, or bytes do. It is on disk when both syncs have returned: its own, and that of all names.
  void place_model(const std::filesystem::path& file, std::string_view id) const;
  void write_model(std::string_view id, std::string_view bytes) const;
  void sync_model(std::string_view id) const;
  void sync_models() const;

  // The id of the model that a job stores: "mdl_X" of "job_X", so that a retry cannot make a second one.
  static std::string model_id_of(std::string_view job);

 private:
  std::filesystem::path folder_of(const std::string& job, std::int64_t lease) const;

  std::filesystem::path models_, results_;
};

}  // namespace kedge::server
