// DatasetMeta to and from the bytes at the end of a data set file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/dataset_file.h"

namespace kedge::engine {

// Little form of its own, so that engine/core needs no codec: 64-bit integers in the machine's byte order, strings with
// their length in front, lists with their count in front.
std::string encode_meta(const DatasetMeta& meta);

// `file` is for messages. Errors: kDatasetCorrupt for anything that encode_meta() cannot have written.
DatasetMeta decode_meta(std::string_view bytes, const std::string& file);

// FNV-1a, 64 bits: finds damage, not malice.
std::uint64_t meta_hash(std::string_view bytes);

}  // namespace kedge::engine
