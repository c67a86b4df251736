// Addresses of several files in one text, in the form of curl and its kin: part-{a,b}.csv, part-[00-11].csv.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

// {one,two} stands for each of the texts, [1-9], [001-128], [0-90:10] and [a-f] for each number or letter, with zeros
// in front where the first number has them. Other brackets and braces stand for themselves. The last one changes
// fastest.
bool is_url_pattern(std::string_view text);

// Errors: kInvalidValue for more than kMostUrls, and for a range that ends before it begins.
inline constexpr std::size_t kMostUrls = 1'000;
std::vector<std::string> expand_url_pattern(const std::string& text);

}   // namespace kedge::server
