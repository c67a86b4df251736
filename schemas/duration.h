// Durations as people write them: 500ms, 90s, 2m, 1.5h, 7d. The one reader for command lines, settings and requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kedge::schema {

// Seconds. A number without a unit counts `bare` seconds each. Unset for what is no such text, is below 0 or beyond 10^9 days.
std::optional<double> parse_duration(std::string_view text, double bare = 1);

// "90s", "15m", "8h", "7d": in the largest unit of which it is a whole number; milliseconds at the least.
std::string duration_text(double seconds);

}   // namespace kedge::schema
