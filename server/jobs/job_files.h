// The files that jobs leave: stored models and artifacts, published by renames so that none is ever seen half made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/job.h"

namespace kedge::server {

// <data-dir>/models/ID.kedge and <data-dir>/results/JOB/NAME. A worker writes into results/JOB.LEASE.part; nothing there counts until
// publish(). Thread safe, as the file system is. Errors: kUnavailable with the system's words.
class JobFiles {
 public:
  explicit JobFiles(std::filesystem::path data_dir);   // creates both folders

  // Removes unfinished work, and what no row of the store knows: the leftovers of a crash. Before the first begin().
  void remove_orphans(const std::function<bool(const std::string&)>& has_model, const std::function<bool(const std::string&)>& has_result) const;

  // Whether a task can leave files.
  static bool leaves_files(const schema::Task& task);
  std::filesystem::path begin(const std::string& job, std::int64_t lease) const;   // the empty folder for an attempt
  std::filesystem::path attempt(const std::string& job, std::int64_t lease) const;   // that folder again
  void discard(const std::string& job, std::int64_t lease) const noexcept;
  // What the attempt left takes its final place, and is on disk when this returns: the model first, then the artifacts, if there are any. The
  // row that makes it known comes after.
  void publish(const std::string& job, std::int64_t lease, const std::string& model, bool has_artifacts) const;

  std::filesystem::path model_path(std::string_view id) const;
  std::filesystem::path artifact_path(std::string_view job, std::string_view name) const;
  // A file that is on disk becomes the model of this id.
  void adopt_model(const std::filesystem::path& file, std::string_view id) const;

  // The id of the model that a job stores: "mdl_X" of "job_X", so that a retry cannot make a second one.
  static std::string model_id_of(std::string_view job);

 private:
  std::filesystem::path models_, results_;
};

}  // namespace kedge::server
