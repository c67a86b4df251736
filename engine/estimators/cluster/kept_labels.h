// Labels of the fitted rows, which stay on the device that found them until they are asked for.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/core/array.h"

namespace kedge::engine {

// Empty at first. The device must outlive it, or be asked before it ends. Any number of threads may call get().
class KeptLabels {
 public:
  void set(Array<std::int32_t> on_device) { on_device_ = std::move(on_device), host_.clear(); }
  void set(std::vector<std::int32_t> host) { host_ = std::move(host), on_device_ = {}; }

  // On the host. The first call copies them there, and frees the device's.
  const std::vector<std::int32_t>& get() const { return fetched(); }
  // The same, to be filled from a stored model.
  std::vector<std::int32_t>& get() { return fetched(); }

 private:
  std::vector<std::int32_t>& fetched() const {
    const std::lock_guard lock(guard_);
    if (on_device_.size() > 0) host_ = on_device_.to_host(), on_device_ = {};
    return host_;
  }

  mutable std::mutex guard_;
  mutable Array<std::int32_t> on_device_;
  mutable std::vector<std::int32_t> host_;
};

}   // namespace kedge::engine
