// The tables of the job store, as a list of migrations: a new version of the program adds to the list, never edits it.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/store/sqlite.h"

namespace kedge::server {

// Brings an empty or older store up to date, in one transaction.
// Errors: kUnavailable when a newer version of Kedge wrote the store.
void migrate(SqliteConnection& connection);

std::int64_t schema_version();   // that migrate() brings a store to

// The number of the last change of the list of jobs; 0: there was none.
inline constexpr std::string_view kLastChange =
    "SELECT MAX(COALESCE((SELECT MAX(changed) FROM jobs), 0), (SELECT last FROM forgotten_changes))";

}  // namespace kedge::server
