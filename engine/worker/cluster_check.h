// kedge-worker --cluster-check: a group of ranks that compares and measures itself.
#pragma once

#include <filesystem>
#include <string>

namespace kedge::engine {

// The life of a rank of such a group, which needs no kedged. `device`: as devices_of_ranks() takes it. Rank 0 writes
// the report to stdout, whole or not at all, and ends with 1 if it names problems; ranks that do not come together, or
// are stuck, say why on stderr and end with 1.
[[noreturn]] void check_cluster(const std::filesystem::path& plugin, const std::string& device, bool as_json);

}   // namespace kedge::engine
