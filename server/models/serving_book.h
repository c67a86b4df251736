// The settings of models that are not served by the defaults: on the disk, and in memory for each question.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "server/models/serving_settings.h"

namespace kedge::server {

// One file a model, ID.json, in a folder that also has the models' logs (prediction_log.h) and what was
// counted of their questions (drift_book.h). Thread safe.
class ServingBook {
 public:
  // Reads what is there. `has_model`: whether a model is stored; the files of others are removed. `report` hears of a
  // damaged file: its model is served by the defaults, and the file stays until the next set(). Errors: kUnavailable
  // when the folder cannot be made.
  ServingBook(std::filesystem::path folder, const std::function<bool(const std::string& model)>& has_model,
              const std::function<void(std::string_view)>& report);

  ServingSettings find(std::string_view model) const;   // the defaults of a model without settings
  // Returns when they are on the disk; the next question is asked by them. Errors: kStorageFull or kInternal in the
  // disk's words, and then the settings stay as they were.
  void set(const std::string& model, const ServingSettings& settings);
  void forget(std::string_view model) noexcept;   // the model is deleted
  std::map<std::string, ServingSettings, std::less<>> all() const;

 private:
  std::filesystem::path file_of(std::string_view model) const;

  const std::filesystem::path folder_;
  std::mutex writing_;         // one write at a time: the file and the memory then agree
  mutable std::mutex mutex_;   // guards what follows
  std::map<std::string, ServingSettings, std::less<>> settings_;
};

}   // namespace kedge::server
