// How many target columns an estimator takes, where its parameters say so.
#pragma once

#include <cstdint>
#include <optional>

namespace kedge::engine {

// What an estimator of several targets may be as well.
class TargetCount {
 public:
  virtual ~TargetCount() = default;
  virtual std::optional<std::int64_t> n_targets() const = 0;   // nothing: any number; known before fit
};

}   // namespace kedge::engine
