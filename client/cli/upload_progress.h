// How far an upload is, on one line of stderr: bytes, rate, time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "client/cli/live_area.h"

namespace kedge::cli {

// "1.2 GB of 4.5 GB, 120.3 MB/s, 27.5 s left"; without a total "1.2 GB, 120.3 MB/s". All bytes sent: "4.5 GB sent, 98.1
// MB/s; the server reads it".
std::string upload_text(std::int64_t bytes, std::int64_t total, double seconds);

// Draws on a terminal, at most ten times a second, and nothing elsewhere.
class UploadProgress {
 public:
  UploadProgress();
  ~UploadProgress();   // removes the line
  UploadProgress(const UploadProgress&) = delete;
  void show(std::int64_t bytes, std::int64_t total) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  const Page page_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
  LiveArea area_;
};

}   // namespace kedge::cli
