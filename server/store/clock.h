// Times as the API shows them, and job ids that sort by time.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

namespace kedge::server {

// RFC 3339, UTC, milliseconds: "2026-01-02T03:04:05.678Z".
std::string format_time(std::chrono::system_clock::time_point time);

// Seconds from one such text to another, 0 if either is not one or the difference is negative.
double seconds_between(std::string_view from, std::string_view to);

// Makes ids "job_" + ULID (48 bits of milliseconds, 80 random bits, Crockford's base 32). Each id is greater than the
// one before, also within a millisecond, when the clock goes back, and after a restart if given the last id. Thread
// safe.
class JobIds {
 public:
  explicit JobIds(std::string_view last_id = {});
  static bool is_id(std::string_view text);   // has the form of one
  std::string next(std::chrono::system_clock::time_point time = std::chrono::system_clock::now());

 private:
  std::mutex mutex_;
  unsigned __int128 last_ = 0;
  std::mt19937_64 random_;
};

}  // namespace kedge::server
