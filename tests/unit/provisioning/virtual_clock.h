// Time that passes only in sleeps.
#pragma once

#include "provisioning/clock.h"

namespace kedge::provisioning {

class VirtualClock final : public Clock {
 public:
  std::int64_t unix_seconds() override { return kStart + milliseconds_ / 1000; }
  double steady_seconds() override { return static_cast<double>(milliseconds_) / 1000; }
  void sleep(std::chrono::milliseconds duration) override { milliseconds_ += duration.count(); }

 private:
  static constexpr std::int64_t kStart = 1'800'000'000;
  std::int64_t milliseconds_ = 0;
};

}  // namespace kedge::provisioning
