// What a start does with the jobs that the last run left open: see recovery.h.
#include "server/store/recovery.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/faults/fail_point.h"
#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

constexpr std::uintmax_t kCheckedBytes = 64 << 20;   // a tenth of a second

struct Found {
  OpenJob job;
  bool interrupted, cancel;
  std::int64_t lease;
};

std::vector<Found> find_open_jobs(SqliteConnection& connection) {
  SqliteStatement statement(
      connection,
      "SELECT id, wish, created, tenant, digest, crashes, specs.bytes, state, cancel_requested, lease_token, trace "
      "FROM jobs JOIN specs ON specs.job = jobs.id WHERE state < 4 ORDER BY id");
  SqliteStatement::Rows rows = statement.open();
  std::vector<Found> found;
  while (rows.next()) {
    schema::JobSpec spec = schema::from_binary<schema::JobSpec>(rows.blob(6));
    if (auto* text = std::get_if<schema::InlineRef>(&spec.dataset.source)) text->csv.clear();
    found.push_back({.job = {.id = rows.text(0),
                             .wish = rows.text(1),
                             .created = rows.text(2),
                             .tenant = rows.text(3),
                             .digest = rows.text(4),
                             .trace = rows.text(10),
                             .crashes = rows.integer(5),
                             .deadlines = spec.deadlines,
                             .dataset = std::move(spec.dataset)},
                     .interrupted = rows.integer(7) != 0,
                     .cancel = rows.integer(8) != 0,
                     .lease = rows.integer(9)});
  }
  return found;
}

}  // namespace

Recovered recover(SqliteConnection& connection, SqlStoreWriter& writer) {
  KEDGE_FAIL_POINT("store.recover.before");
  if (KEDGE_CONTROL("skip-event-numbers")) connection.execute("UPDATE jobs SET last_seq = last_seq + 1 WHERE state < 4");
  std::vector<Found> found = find_open_jobs(connection);
  Recovered recovered;
  for (const Found& f : found) recovered.last_lease = std::max(recovered.last_lease, f.lease);
  const std::string now = format_time(std::chrono::system_clock::now());
  writer.begin();
  for (Found& f : found) {
    if (f.cancel) writer.change({.job = f.job.id, .state = schema::JobState::kCancelled, .time = now});
    else if (f.interrupted)
      writer.change({.job = f.job.id, .reason = "SERVER_RESTARTED", .time = now, .new_lease = ++recovered.last_lease});
    if (!f.cancel && !KEDGE_CONTROL("forget-interrupted-jobs")) recovered.jobs.push_back(std::move(f.job));
  }
  writer.commit();
  KEDGE_FAIL_POINT("store.recover.after");
  return recovered;
}

void check_integrity(SqliteConnection& connection, const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::file_size(file, ignored) > kCheckedBytes || KEDGE_CONTROL("trust-the-store")) return;
  SqliteStatement statement(connection, "PRAGMA quick_check(1)");
  SqliteStatement::Rows rows = statement.open();
  if (!rows.next() || rows.text(0) == "ok") return;
  throw schema::Error(schema::ErrorCode::kUnavailable,
                      fmt::format("the job store {} is damaged: {}; restore it, or move it away to start with an empty one",
                                  file.string(), rows.text(0)));
}

}  // namespace kedge::server
