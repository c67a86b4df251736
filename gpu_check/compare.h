// What two devices say of the same, compared: whole numbers, texts and truths exactly, other numbers within a bound.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/stored_model.h"
#include "gpu_check/section.h"
#include "schemas/value.h"

namespace kedge::gpu_check {

// Gathers what differs. A number may differ by `bound` times the largest magnitude of its list: single elements near 0
// carry the rounding of the large ones. Two NaNs agree, as do two infinities of one sign.
class Comparison {
 public:
  // `free_signs`: what is compared by its magnitudes alone.
  Comparison(double bound, std::vector<std::string> free_signs)
      : found_{.deviation = 0, .bound = bound}, free_signs_(std::move(free_signs)) {}

  void add(const std::string& what, const schema::Value& cpu, const schema::Value& device);
  void add(const std::string& what, const engine::ModelAnswer& cpu, const engine::ModelAnswer& device);
  void add(std::string disagreement) { found_.disagreements.push_back(std::move(disagreement)); }
  Finding take() { return std::move(found_); }

 private:
  void add_numbers(const std::string& what, std::vector<double> cpu, std::vector<double> device);
  Finding found_;
  const std::vector<std::string> free_signs_;
};

}   // namespace kedge::gpu_check
