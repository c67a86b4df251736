// Whether the files of stored models are still what was stored.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "schemas/model.h"

namespace kedge::server {

// Thread safe. Reads each state of a file once: as long as size, time and place stay the same, so does the content.
class ModelDigests {
 public:
  // Errors: kModelCorrupt when the file is not the one that `model` describes; kNotFound when there is none. A model of before
  // digests were kept has nothing to be compared with.
  void check(const std::filesystem::path& file, const schema::ModelInfo& model);

 private:
  using Stamp = std::tuple<std::uintmax_t, std::filesystem::file_time_type, ino_t>;
  std::mutex mutex_;
  std::map<std::string, Stamp> checked_;   // by the model's id
};

}   // namespace kedge::server
