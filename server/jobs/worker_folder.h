// A worker's own folder: the only place where it writes.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "schemas/worker.h"

namespace kedge::server {

// Resource; one thread at a time. The folder goes with the object.
class WorkerFolder {
 public:
  explicit WorkerFolder(const std::filesystem::path& parent);   // Errors: kUnavailable with the system's words
  ~WorkerFolder();
  WorkerFolder(const WorkerFolder&) = delete;
  WorkerFolder& operator=(const WorkerFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // What the run is to write goes into this folder first: the command's paths are changed. Doing it twice changes nothing.
  void redirect(schema::RunCommand& command);
  // Moves what the run wrote to where its command had said. What cannot be moved stays, and is missed where it is looked for.
  void deliver() noexcept;

 private:
  std::filesystem::path path_;
  std::filesystem::path model_, artifacts_;   // where the files of the last run belong; empty: it writes none
};

// The files that a command may read, opened for the worker; they are closed with this object. A file that cannot be opened is named by its path
// alone: the worker says what is wrong.
class FilesToLend {
 public:
  enum class How { kOpen, kByPath };   // by path: none, for ranks, which may be on other machines
  explicit FilesToLend(schema::WorkerCommand& command, How how = How::kOpen);   // notes in it how many there are
  ~FilesToLend();
  FilesToLend(const FilesToLend&) = delete;
  FilesToLend& operator=(const FilesToLend&) = delete;

  const std::vector<int>& descriptors() const { return descriptors_; }

 private:
  void open_all(std::initializer_list<const std::string*> paths);
  void close_all();

  std::vector<int> descriptors_;
};

}  // namespace kedge::server
