// Counters, histograms and gauges in Prometheus' text format.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "server/http/observer.h"

namespace kedge::server::observe {

// Seconds, in buckets that fit both a cached answer and a long job.
class Histogram {
 public:
  static constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0};
  void add(double seconds);
  // Appends the lines of "name{labels,le=...}"; `labels` without braces, or empty.
  void append(std::string& out, std::string_view name, const std::string& labels) const;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// Thread safe. No label carries a job, a user's text or a path as it was asked for, so that the number of series is bounded.
class Metrics {
 public:
  void request(const http::RequestRecord& record);
  // A job has ended: outcome "succeeded", "failed" or "cancelled"; reason as in the job, empty for none.
  void job_ended(std::string_view outcome, std::string_view reason, double queued_seconds, double total_seconds);
  // A value that is asked for at each scrape. `name` with its unit, `help` a sentence.
  void gauge(std::string name, std::string help, std::function<double()> value);
  void set_build(std::string version);

  std::string text() const;

 private:
  struct Gauge {
    std::string name, help;
    std::function<double()> value;
  };
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_;   // route, method, status
  std::map<std::string, Histogram> durations_;                                    // by route
  std::uint64_t submitted_ = 0;
  std::map<std::pair<std::string, std::string>, std::uint64_t> ended_;
  Histogram queued_, total_;
  std::vector<Gauge> gauges_;
  std::string version_;
};

// "\\", "\"" and line feeds of a label's value, escaped.
std::string label_value(std::string_view text);

}  // namespace kedge::server::observe
