// The log (WAL) of the job store: made before it is needed, and copied into the database when no caller waits.
#pragma once

#include <filesystem>

#include "server/store/sqlite.h"

namespace kedge::server {

class StoreLog {
 public:
  // Of a database that nothing else has open; each commit is on disk from then on when it returns. The log is made so long that a commit need not
  // lengthen it, as a sync then takes about twice as long. Where the disk has no room it stays as it is. Errors: the connection's.
  StoreLog(SqliteConnection& connection, const std::filesystem::path& database);
  ~StoreLog();
  StoreLog(const StoreLog&) = delete;
  StoreLog& operator=(const StoreLog&) = delete;

  // After a commit and its callbacks. What cannot be copied now is copied at the next call.
  void tidy();

 private:
  SqliteConnection& connection_;
  int pages_ = 0;   // in the log
};

}  // namespace kedge::server
