// What a start does with the jobs that the last run left open.
#pragma once

#include <cstdint>
#include <vector>

#include "server/store/store.h"
#include "server/store/sqlite.h"
#include "server/store/writer.h"

namespace kedge::server {

struct Recovered {
  std::vector<OpenJob> jobs;     // that wait again
  std::int64_t last_lease = 0;   // the highest that was given out
};

// Interrupted jobs go back into the queue; those that were to be cancelled are cancelled now. One transaction.
Recovered recover(SqliteConnection& connection, SqlStoreWriter& writer);

// Error{kUnavailable}, naming the file, when its pages do not hang together. Only of files small enough to be read at a start.
void check_integrity(SqliteConnection& connection, const std::filesystem::path& file);

}  // namespace kedge::server
