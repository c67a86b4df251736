// The texts of scikit-learn's fetch_20newsgroups, from its archive of one file a text.
#pragma once

#include <functional>
#include <string_view>

namespace kedge::server {

// CSV with the columns text and target, the name of the group; rows in the order of
// fetch_20newsgroups(subset="train" | "test" | "all"). `archive`: tar, packed or not.
// Errors: kDatasetCorrupt.
void newsgroups_table(std::string_view archive, std::string_view subset,
                      const std::function<void(std::string_view)>& write);

}   // namespace kedge::server
