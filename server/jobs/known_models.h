// Descriptions of stored models that were asked for lately, so that a prediction reads no database.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "schemas/model.h"

namespace kedge::server {

// A model is never changed, only deleted.
struct OwnedModel {
  schema::ModelInfo info;
  std::string tenant;
};

// Thread safe.
class KnownModels {
 public:
  std::shared_ptr<const OwnedModel> find(std::string_view id) const {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(id);
    return found == models_.end() ? nullptr : found->second;
  }
  // Calls `look_up` if the model is not known, and keeps what it finds unless a model was deleted meanwhile.
  template <class LookUp>
  std::shared_ptr<const OwnedModel> find_or(std::string_view id, LookUp look_up) {
    std::uint64_t deletions = 0;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = models_.find(id); found != models_.end()) return found->second;
      deletions = deletions_;
    }
    std::shared_ptr<const OwnedModel> model = look_up();
    const std::lock_guard lock(mutex_);
    if (!model || deletions != deletions_) return model;
    if (models_.size() >= kMost) models_.clear();
    models_[std::string(id)] = model;
    return model;
  }
  // A model's row is gone from the disk.
  void forget(std::string_view id) {
    const std::lock_guard lock(mutex_);
    ++deletions_;
    if (const auto found = models_.find(id); found != models_.end()) models_.erase(found);
  }

 private:
  static constexpr std::size_t kMost = 1024;

  mutable std::mutex mutex_;                                                       // guards what follows
  std::map<std::string, std::shared_ptr<const OwnedModel>, std::less<>> models_;   // shared with those that read one
  std::uint64_t deletions_ = 0;
};

}   // namespace kedge::server
