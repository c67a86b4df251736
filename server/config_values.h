// The values of settings from their texts. Each refuses a wrong text with kInvalidValue; the caller adds the name of
// the setting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kedge::server {

constexpr std::int64_t kLongestTime = std::int64_t{1} << 40;   // s

// Throws "is 'VALUE', PROBLEM".
[[noreturn]] void refuse(std::string_view value, std::string_view problem);

std::int64_t to_integer(const std::string& text, std::int64_t low, std::int64_t high);

// A time in whole seconds; a number without a unit counts them.
std::int64_t to_seconds(const std::string& text, std::int64_t high = kLongestTime);

std::optional<double> number_of(std::string_view text);   // unset: the whole text is no number

// USD from 0 to 100,000. NaN and infinity are no prices.
double to_price(const std::string& text);

bool to_switch(const std::string& text);   // true, false, 1 or 0

}   // namespace kedge::server
