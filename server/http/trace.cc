// Checking and making traceparent.
#include "server/http/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace kedge::server::http {
namespace {

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

// "00-" 32 hex "-" 16 hex "-" 2 hex; neither id all zeros.
bool is_valid(std::string_view text) {
  if (text.size() != 55 || !text.starts_with("00-") || text[35] != '-' || text[52] != '-') return false;
  const auto trace = text.substr(3, 32), parent = text.substr(36, 16);
  return is_hex(trace) && is_hex(parent) && is_hex(text.substr(53)) && !is_zero(trace) && !is_zero(parent);
}

}  // namespace

std::string traceparent(std::string_view given) {
  if (is_valid(given)) return std::string(given);
  thread_local std::mt19937_64 random{std::random_device{}()};
  return fmt::format("00-{:016x}{:016x}-{:016x}-01", random(), random() | 1, random() | 1);
}

}  // namespace kedge::server::http
