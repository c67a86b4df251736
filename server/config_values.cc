// Numbers, times, prices and switches of the configuration.
#include "server/config_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "schemas/duration.h"
#include "schemas/error.h"

namespace kedge::server {

void refuse(std::string_view value, std::string_view problem) {
  throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("is '{}', {}", value, problem));
}

std::int64_t to_integer(const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    refuse(text, fmt::format("must be an integer from {} to {}", low, high));
  return value;
}

std::int64_t to_seconds(const std::string& text, std::int64_t high) {
  const std::optional<double> seconds = schema::parse_duration(text);
  if (!seconds || *seconds > static_cast<double>(high) || *seconds != std::floor(*seconds))
    refuse(text, fmt::format("must be a time of at most {} in whole seconds, such as 90s, 15m, 8h or 30d",
                             schema::duration_text(static_cast<double>(high))));
  return static_cast<std::int64_t>(*seconds);
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value) != std::from_chars_result{end, std::errc()}) return std::nullopt;
  return value;
}

double to_price(const std::string& text) {
  constexpr double kMost = 100'000;
  const std::optional<double> value = number_of(text);
  if (!value || !(*value >= 0 && *value <= kMost)) refuse(text, fmt::format("must be a number from 0 to {}", kMost));
  return *value;
}

bool to_switch(const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  refuse(text, "must be true or false");
}

}   // namespace kedge::server
