// The file of --stores: object stores by prefix, with the operator's keys.
#pragma once

#include <filesystem>
#include <vector>

#include "server/data/object_store.h"

namespace kedge::server {

// [[store]] tables with prefix, endpoint, region, access-key-id, secret-access-key, session-token. No path: none.
// Errors: kInvalidValue with the file's name and the entry, also where others than the owner may read the file.
std::vector<ObjectStore> read_stores(const std::filesystem::path& file);

}   // namespace kedge::server
