// The words that stop_words="english" leaves out.
#pragma once

#include <span>
#include <string_view>

namespace kedge::engine::text {

// scikit-learn's list (BSD-3-Clause), which is that of the University of Glasgow's information retrieval group;
// ascending.
std::span<const std::string_view> english_stop_words();

}   // namespace kedge::engine::text
