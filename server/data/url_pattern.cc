// Lists in braces and ranges in brackets, found from the left; everything else is text.
#include "server/data/url_pattern.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "engine/core/require.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

// A part of a pattern that stands for several texts.
struct Group {
  std::size_t begin = 0, end = 0;   // with its braces
  std::vector<std::string> texts;
};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 12;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number =
      !text.empty() && text.size() <= kMostDigits && error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

std::vector<std::string> texts_of_list(std::string_view inside) {
  std::vector<std::string> texts;
  for (std::size_t start = 0; start <= inside.size();) {
    const std::size_t comma = std::min(inside.find(',', start), inside.size());
    texts.emplace_back(inside.substr(start, comma - start));
    start = comma + 1;
  }
  return texts;
}

// "a-f"; nothing for anything else.
std::vector<std::string> texts_of_letters(std::string_view first, std::string_view last) {
  std::vector<std::string> texts;
  const bool is_range = first.size() == 1 && last.size() == 1 &&
                        ((is_lower(first[0]) && is_lower(last[0])) || (is_upper(first[0]) && is_upper(last[0])));
  if (!is_range) return texts;
  require(first[0] <= last[0], ErrorCode::kInvalidValue, "url: [{}-{}] ends before it begins", first, last);
  for (char c = first[0]; c <= last[0]; ++c) texts.emplace_back(1, c);
  return texts;
}

// "1-9", "001-128", "0-90:10", "a-f"; nothing for anything else.
std::vector<std::string> texts_of_range(std::string_view inside) {
  const std::size_t dash = inside.find('-'), colon = std::min(inside.find(':'), inside.size());
  if (dash == std::string_view::npos || dash > colon) return {};
  const std::string_view from = inside.substr(0, dash), to = inside.substr(dash + 1, colon - dash - 1);
  if (colon == inside.size())
    if (std::vector<std::string> letters = texts_of_letters(from, to); !letters.empty()) return letters;
  const auto first = number_of(from), last = number_of(to);
  const auto step = colon == inside.size() ? std::optional<std::uint64_t>(1) : number_of(inside.substr(colon + 1));
  if (!first || !last || !step || *step == 0) return {};
  require(*first <= *last, ErrorCode::kInvalidValue, "url: [{}] ends before it begins", inside);
  require((*last - *first) / *step < kMostUrls, ErrorCode::kInvalidValue, "url: [{}] stands for more than {} files",
          inside, kMostUrls);
  const std::size_t width = from.starts_with('0') ? from.size() : 0;
  std::vector<std::string> texts;
  for (std::uint64_t number = *first; number <= *last; number += *step)
    texts.push_back(fmt::format("{:0{}}", number, width));
  return texts;
}

// The first at `from` or behind it.
std::optional<Group> next_group(std::string_view text, std::size_t from) {
  for (std::size_t begin = text.find_first_of("{[", from); begin != std::string_view::npos;
       begin = text.find_first_of("{[", begin + 1)) {
    const bool is_list = text[begin] == '{';
    const std::size_t end = text.find(is_list ? '}' : ']', begin);
    if (end == std::string_view::npos) continue;
    const std::string_view inside = text.substr(begin + 1, end - begin - 1);
    if (is_list && inside.find(',') == std::string_view::npos) continue;
    std::vector<std::string> texts = is_list ? texts_of_list(inside) : texts_of_range(inside);
    if (!texts.empty()) return Group{begin, end + 1, std::move(texts)};
  }
  return std::nullopt;
}

}   // namespace

bool is_url_pattern(std::string_view text) {
  return next_group(text, 0).has_value();
}

std::vector<std::string> expand_url_pattern(const std::string& text) {
  std::vector<std::string> urls{""};
  std::size_t at = 0;
  for (auto group = next_group(text, 0); group; group = next_group(text, at)) {
    require(urls.size() * group->texts.size() <= kMostUrls, ErrorCode::kInvalidValue,
            "url: '{}' names more than {} files", text, kMostUrls);
    std::vector<std::string> longer;
    for (const std::string& url : urls)
      for (const std::string& part : group->texts) longer.push_back(url + text.substr(at, group->begin - at) + part);
    urls = std::move(longer);
    at = group->end;
  }
  for (std::string& url : urls) url += text.substr(at);
  return urls;
}

}   // namespace kedge::server
