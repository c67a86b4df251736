// Token buckets, one for each key. A key that was quiet is forgotten.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/quota.h"

namespace kedge::server::auth {

// Not thread safe.
class RateLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  // per_second 0: no bound. `burst`: how many at once after a quiet time, at least 1.
  RateLimiter(double per_second, double burst) : per_second_(per_second), burst_(std::max(1.0, burst)) {}

  // Takes one; false when there is none.
  bool take(const std::string& key, Clock::time_point now) {
    if (per_second_ <= 0) return true;
    Bucket& bucket = filled(key, now);
    if (bucket.level < 1) return false;
    bucket.level -= 1;
    return true;
  }
  // What is left of the bucket; nothing is said without a bound.
  std::optional<schema::Quota> quota(const std::string& key, std::string_view name, Clock::time_point now) const {
    if (per_second_ <= 0) return std::nullopt;
    const auto found = buckets_.find(key);
    const double has = found == buckets_.end() ? burst_ : level(found->second, now);
    return schema::Quota{.name = name,
                         .unit = "requests",
                         .most = static_cast<std::uint64_t>(burst_),
                         .left = static_cast<std::uint64_t>(has),
                         .window_s = burst_ / per_second_,
                         .refill_s = (burst_ - has) / per_second_,
                         .next_s = std::max(0.0, 1 - has) / per_second_};
  }
  // Whether take() would.
  bool has(const std::string& key, Clock::time_point now) {
    if (per_second_ <= 0) return true;
    const auto found = buckets_.find(key);
    return found == buckets_.end() || level(found->second, now) >= 1;
  }

 private:
  struct Bucket {
    double level;
    Clock::time_point at;
  };
  static constexpr std::size_t kMost = 10'000;   // keys; when there are more, full buckets are forgotten

  double level(const Bucket& bucket, Clock::time_point now) const {
    return std::min(burst_, bucket.level + per_second_ * std::chrono::duration<double>(now - bucket.at).count());
  }
  Bucket& filled(const std::string& key, Clock::time_point now) {
    if (buckets_.size() > kMost) std::erase_if(buckets_, [&](const auto& entry) { return level(entry.second, now) >= burst_; });
    Bucket& bucket = buckets_.try_emplace(key, Bucket{burst_, now}).first->second;
    bucket = {level(bucket, now), now};
    return bucket;
  }

  double per_second_, burst_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace kedge::server::auth
