// The data sets inside the server.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::server {

std::vector<std::string> builtin_dataset_names();

// Changes when the data changes; names the cached file. Errors: kDatasetNotFound with the nearest name.
std::string builtin_fingerprint(const std::string& name);

// Writes the data set to `output` as a mapped file.
void write_builtin(const std::string& name, const std::filesystem::path& output);

}  // namespace kedge::server
