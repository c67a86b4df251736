// What the program checks: sections of items. A section runs in a process of its own, item after item.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"

namespace kedge::gpu_check {

struct Measure {
  std::string name;
  double value = 0;
  std::string unit;
};

// What an item found. It agrees where nothing disagreed.
struct Finding {
  std::vector<std::string> disagreements = {};
  std::optional<double> deviation = {},
                        bound = {};   // the largest difference relative to the bound's scale, where there is one
  std::vector<Measure> measures = {};
};

struct Item {
  std::string name;
  std::function<Finding()> run;   // an exception is a disagreement
};

// What the items work with: the device, the CPU beside it, and a folder that goes with the process. A resource.
class Bench {
 public:
  explicit Bench(std::string_view device);   // Errors: kDeviceUnavailable
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  engine::Device& device() { return *device_; }
  engine::Device& cpu() { return *cpu_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::unique_ptr<engine::Device> device_, cpu_;
  std::filesystem::path folder_;
};

struct Section {
  const char* name;
  const char* what;      // for people
  double most_seconds;   // of the whole time, however much there is
  std::vector<Item> (*items)(Bench&);
  const char* tool = nullptr;   // of compute-sanitizer, under which it runs: it is left out where that is missing
};

// The most valuable first.
std::vector<Section> sections();

// The items of the sections, a file each.
std::vector<Item> limit_items(Bench& bench);
std::vector<Item> short_op_items(
    Bench& bench);                          // each op at the shape with the least work; for compute-sanitizer, too
std::vector<Item> op_items(Bench& bench);   // at one with more
std::vector<Item> other_op_items(Bench& bench);    // at its other shapes
std::vector<Item> estimator_items(Bench& bench);   // small data
std::vector<Item> large_estimator_items(Bench& bench);
std::vector<Item> rank_items(Bench& bench);     // none without NCCL
std::vector<Item> timing_items(Bench& bench);   // nothing is compared
std::vector<Item> gain_items(Bench& bench);     // timed alone

}   // namespace kedge::gpu_check
