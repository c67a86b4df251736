// Compares values, lists and answers of models.
#include "gpu_check/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kedge::gpu_check {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

// A value as its numbers that may differ, and the rest as text, in the order of the document.
struct Parts {
  std::vector<double> numbers;
  std::string rest;
};

void divide(const Value& value, Parts& parts) {
  if (const auto* number = std::get_if<double>(&value.data)) {
    parts.numbers.push_back(*number);
    parts.rest += "# ";
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value.data)) {
    parts.numbers.insert(parts.numbers.end(), numbers->begin(), numbers->end());
    parts.rest += fmt::format("#{} ", numbers->size());
  } else if (const auto* list = std::get_if<ValueList>(&value.data)) {
    parts.rest += "[ ";
    for (const Value& item : *list) divide(item, parts);
    parts.rest += "] ";
  } else if (const auto* map = std::get_if<ValueMap>(&value.data)) {
    for (const auto& [name, item] : *map) {
      parts.rest += name + ": ";
      divide(item, parts);
    }
  } else {
    parts.rest += schema::to_string(value) + " ";
  }
}

// The first place where two texts differ, with a little around it.
std::string first_difference(const std::string& cpu, const std::string& device) {
  constexpr std::size_t kBefore = 20, kShown = 60;
  const auto [a, b] = std::mismatch(cpu.begin(), cpu.end(), device.begin(), device.end());
  const std::size_t at = static_cast<std::size_t>(a - cpu.begin()), from = at > kBefore ? at - kBefore : 0;
  return fmt::format("\"{}\" on the CPU, \"{}\" on the device", cpu.substr(from, kShown),
                     device.substr(std::min(from, device.size()), kShown));
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}   // namespace

void Comparison::add_numbers(const std::string& what, std::vector<double> cpu, std::vector<double> device) {
  if (cpu.size() != device.size())
    return add(fmt::format("{}: {} numbers on the CPU, {} on the device", what, cpu.size(), device.size()));
  if (std::ranges::find(free_signs_, what) != free_signs_.end())
    for (std::vector<double>* const numbers : {&cpu, &device})
      for (double& value : *numbers) value = std::abs(value);
  double largest = 0;
  for (const double value : cpu)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    if (same(cpu[i], device[i])) continue;
    const double difference = std::abs(cpu[i] - device[i]) / (largest > 0 ? largest : 1);
    const double counted = std::isfinite(difference) ? difference : HUGE_VAL;
    if (counted > worst) worst = counted, at = i;
  }
  found_.deviation = std::max(*found_.deviation, worst);
  if (worst > *found_.bound)
    add(fmt::format("{}, number {}: {:.17g} on the CPU, {:.17g} on the device, {:.1e} of the largest, at most {:.0e}",
                    what, at, cpu[at], device[at], worst, *found_.bound));
}

void Comparison::add(const std::string& what, const Value& cpu, const Value& device) {
  Parts a, b;
  divide(cpu, a);
  divide(device, b);
  if (a.rest != b.rest) return add(fmt::format("{}: {}", what, first_difference(a.rest, b.rest)));
  add_numbers(what, std::move(a.numbers), std::move(b.numbers));
}

void Comparison::add(const std::string& what, const engine::ModelAnswer& cpu, const engine::ModelAnswer& device) {
  if (cpu.texts != device.texts) {
    const auto [a, b] = std::ranges::mismatch(cpu.texts, device.texts);
    return add(fmt::format("{}: row {} differs", what, a - cpu.texts.begin()));
  }
  if (!cpu.is_whole) return add_numbers(what, cpu.numbers, device.numbers);
  const auto [a, b] = std::ranges::mismatch(cpu.numbers, device.numbers);
  if (a != cpu.numbers.end() || b != device.numbers.end())
    add(fmt::format("{}: row {} differs", what, (a - cpu.numbers.begin()) / std::max<std::int64_t>(cpu.n_cols, 1)));
}

}   // namespace kedge::gpu_check
