// Warnings that say the same, as one with a count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::cli {

// What a warning is about: its text without numbers, and without the candidate of a search that it names. Warnings of one kind differ in figures alone.
std::string warning_kind(std::string_view text);

// One text for each kind, in the order of their first occurrence: the first of its kind, with how often it came.
std::vector<std::string> collapsed(const std::vector<std::string>& warnings);

}  // namespace kedge::cli
