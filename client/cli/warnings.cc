// Finds warnings that differ only in numbers and names.
#include "client/cli/warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace kedge::cli {
namespace {

constexpr std::string_view kCandidate = "candidate {", kFailed = "} failed on fold ";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct Kind {
  std::string first;
  std::size_t count = 0;
  bool are_equal = true;
};

std::string text_of(const Kind& kind) {
  if (kind.count == 1) return kind.first;
  if (kind.are_equal) return fmt::format("{} ({} times)", kind.first, kind.count);
  return fmt::format("{} (and {} more like it)", kind.first, kind.count - 1);
}

}  // namespace

std::string warning_kind(std::string_view text) {
  const std::size_t end = text.starts_with(kCandidate) ? text.rfind(kFailed) : std::string_view::npos;
  if (end != std::string_view::npos) text.remove_prefix(end);
  std::string kind;
  for (std::size_t i = 0; i < text.size(); ++i) {
    kind += is_digit(text[i]) ? '#' : text[i];
    if (is_digit(text[i])) i = std::min(text.find_first_not_of("0123456789.eE+-", i), text.size()) - 1;
  }
  return kind;
}

std::vector<std::string> collapsed(const std::vector<std::string>& warnings) {
  std::map<std::string, std::size_t> places;
  std::vector<Kind> kinds;
  for (const std::string& warning : warnings) {
    const auto [entry, is_new] = places.try_emplace(warning_kind(warning), kinds.size());
    if (is_new) kinds.push_back({.first = warning});
    Kind& kind = kinds[entry->second];
    ++kind.count;
    kind.are_equal = kind.are_equal && kind.first == warning;
  }
  std::vector<std::string> texts;
  for (const Kind& kind : kinds) texts.push_back(text_of(kind));
  return texts;
}

}  // namespace kedge::cli
