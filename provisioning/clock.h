// Wall-clock seconds and waiting, so that tests can run hours of a controller's life in no time.
#pragma once

#include <chrono>
#include <cstdint>

namespace kedge::provisioning {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t unix_seconds() = 0;  // jumps when the machine's clock is set
  virtual double steady_seconds() = 0;      // for durations
  virtual void sleep(std::chrono::milliseconds duration) = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t unix_seconds() override;
  double steady_seconds() override;
  void sleep(std::chrono::milliseconds duration) override;  // throws schema::Error{kCancelled} when interrupted (interrupt.h)
};

}  // namespace kedge::provisioning
