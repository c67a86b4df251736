// Parquet and Arrow IPC files, which kedge-arrow reads in a process of its own.
#pragma once

#include <filesystem>
#include <string_view>

#include "server/data/parse.h"

namespace kedge::server {

// "parquet" or "arrow", in any case of letters.
bool is_arrow_format(std::string_view format);
// The same by the first bytes of a file; empty for others.
std::string_view arrow_format_of(std::string_view head);

// Columns are those that the request wants: numbers, or nominal where the file has texts; columns of lists, structs and
// bytes keep their name alone. Errors: kInvalidValue where kedge-arrow is not installed, or for a table too large for
// its file; kDatasetCorrupt for a file that is damaged, or that ends the process that reads it; those of the other
// parsers.
engine::DatasetMeta parse_arrow(const std::filesystem::path& file, const ParseRequest& request);

}   // namespace kedge::server
