// Prometheus' text format: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kedge::server::observe {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Seconds, in buckets that fit both a cached answer and a long job. Not thread safe.
class Histogram {
 public:
  static constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,  0.1,  0.25,
                                      0.5,    1.0,   2.5,    5.0,   10.0, 30.0,  120.0, 600.0};
  void add(double seconds);
  const auto& counts() const { return counts_; }   // of each bucket alone, the last without an upper bound
  double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// Writes families: family() first, then its samples.
class Exposition {
 public:
  // type: "counter", "gauge" or "histogram"; `help` a sentence.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, double value);
  void sample_of(std::string_view suffix, const Labels& labels, double value) {
    line(suffix, labels, value);
  }   // of a histogram
  void histogram(const Labels& labels, const Histogram& histogram);
  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, const Labels& labels, double value);

  std::string text_, name_;
};

}   // namespace kedge::server::observe
