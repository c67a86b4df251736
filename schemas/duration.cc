// Reading and writing durations.
#include "schemas/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace kedge::schema {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array kUnits{Unit{"ms", 0.001}, Unit{"s", 1}, Unit{"m", 60}, Unit{"h", 3600}, Unit{"d", 86400}};
constexpr double kLongest = 1e9 * 86400;

}   // namespace

std::optional<double> parse_duration(std::string_view text, double bare) {
  double count = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, count, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(behind, end);
  double seconds = unit.empty() ? count * bare : -1;
  for (const Unit& known : kUnits)
    if (known.name == unit) seconds = count * known.seconds;
  if (!(seconds >= 0 && seconds <= kLongest) || std::signbit(count)) return std::nullopt;   // NaN is refused as well
  return seconds;
}

std::string duration_text(double seconds) {
  const auto milliseconds = std::llround(seconds * 1000);
  const Unit* best = &kUnits[0];
  for (const Unit& unit : kUnits)
    if (milliseconds % std::llround(unit.seconds * 1000) == 0) best = &unit;
  return milliseconds == 0 ? "0s" : fmt::format("{}{}", milliseconds / std::llround(best->seconds * 1000), best->name);
}

}   // namespace kedge::schema
