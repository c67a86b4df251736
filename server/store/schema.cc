// The tables of the job store: see store_schema.h.
#include "server/store/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

// Entry n brings version n to n + 1. The version is SQLite's user_version. Blobs are Cap'n Proto messages of schemas/,
// which evolve by its rules. jobs.state is schema::JobState as a number. jobs.last_seq numbers the events of a job
// without gaps; those before first_seq are no longer kept. A result event has no bytes of its own: its result is the
// job's row in `results`. Specs are stored apart because a row is rewritten with each event. `shown_specs` has the
// specs without their data, of jobs with long ones, for answers that would read them for nothing. `model_files` has the
// small models whose files may not be on disk yet. jobs.changed numbers the changes of the list, those of states, over
// all jobs; `forgotten_changes` is at least as high as any number of a removed job, so that no number is given out
// twice. registered_models.last_version counts on when a version is deleted; tags are JSON objects of texts.
constexpr std::array kMigrations = {
    R"sql(
      CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        state INTEGER NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        error BLOB,
        wish TEXT NOT NULL,
        device TEXT NOT NULL DEFAULT '',
        attempts INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0,
        lease_token INTEGER NOT NULL DEFAULT 0,
        cancel_requested INTEGER NOT NULL DEFAULT 0,
        last_seq INTEGER NOT NULL DEFAULT 0,
        created TEXT NOT NULL,
        started TEXT,
        ended TEXT) WITHOUT ROWID;
      CREATE TABLE specs (job TEXT PRIMARY KEY, bytes BLOB NOT NULL);
      CREATE INDEX jobs_by_state ON jobs (state, id);
      CREATE TABLE events (
        job TEXT NOT NULL,
        seq INTEGER NOT NULL,
        time TEXT NOT NULL,
        bytes BLOB,
        PRIMARY KEY (job, seq)) WITHOUT ROWID;
      CREATE TABLE results (job TEXT PRIMARY KEY, bytes BLOB NOT NULL);
      CREATE TABLE probe (n INTEGER NOT NULL);
      INSERT INTO probe VALUES (0);
    )sql",
    R"sql(
      ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
      CREATE INDEX jobs_by_tenant ON jobs (tenant, id);
    )sql",
    R"sql(
      ALTER TABLE jobs ADD COLUMN digest TEXT NOT NULL DEFAULT '';
      ALTER TABLE jobs ADD COLUMN first_seq INTEGER NOT NULL DEFAULT 1;
      CREATE INDEX jobs_by_end ON jobs (ended) WHERE ended IS NOT NULL;
      CREATE TABLE idempotency (
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        digest TEXT NOT NULL,
        job TEXT NOT NULL,
        created TEXT NOT NULL,
        time INTEGER NOT NULL,
        PRIMARY KEY (tenant, key)) WITHOUT ROWID;
      CREATE INDEX idempotency_by_time ON idempotency (time);
      CREATE TABLE models (id TEXT PRIMARY KEY, bytes BLOB NOT NULL, tenant TEXT NOT NULL);
    )sql",
    R"sql(
      ALTER TABLE jobs ADD COLUMN trace TEXT NOT NULL DEFAULT '';
    )sql",
    R"sql(
      CREATE TABLE model_files (id TEXT PRIMARY KEY, bytes BLOB NOT NULL);
    )sql",
    R"sql(
      CREATE TABLE shown_specs (job TEXT PRIMARY KEY, bytes BLOB NOT NULL);
    )sql",
    R"sql(
      ALTER TABLE jobs ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX jobs_by_change ON jobs (changed);
      CREATE TABLE forgotten_changes (last INTEGER NOT NULL);
      INSERT INTO forgotten_changes VALUES (0);
    )sql",
    R"sql(
      CREATE TABLE registered_models (
        tenant TEXT NOT NULL,
        name TEXT NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT '',
        tags TEXT NOT NULL DEFAULT '{}',
        last_version INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant, name)) WITHOUT ROWID;
      CREATE TABLE model_versions (
        tenant TEXT NOT NULL,
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        model TEXT NOT NULL,
        created TEXT NOT NULL,
        description TEXT NOT NULL DEFAULT '',
        tags TEXT NOT NULL DEFAULT '{}',
        PRIMARY KEY (tenant, name, version)) WITHOUT ROWID;
      CREATE INDEX model_versions_by_model ON model_versions (model);
      CREATE TABLE model_aliases (
        tenant TEXT NOT NULL,
        name TEXT NOT NULL,
        alias TEXT NOT NULL,
        version INTEGER NOT NULL,
        PRIMARY KEY (tenant, name, alias)) WITHOUT ROWID;
    )sql",
};

std::int64_t first_integer(SqliteConnection& connection, std::string_view sql) {
  SqliteStatement statement(connection, sql);
  SqliteStatement::Rows rows = statement.open();
  return rows.next() ? rows.integer(0) : 0;
}

// The first programs kept the version in a table alone.
std::int64_t stored_version(SqliteConnection& connection) {
  connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY)");
  return std::max(first_integer(connection, "PRAGMA user_version"),
                  first_integer(connection, "SELECT COALESCE(MAX(version), 0) FROM schema_version"));
}

}  // namespace

std::int64_t schema_version() { return static_cast<std::int64_t>(kMigrations.size()); }

void migrate(SqliteConnection& connection) {
  connection.execute("BEGIN IMMEDIATE");
  const std::int64_t version = stored_version(connection), known = schema_version();
  if (version > known)
    throw schema::Error(schema::ErrorCode::kUnavailable,
                        fmt::format("job store: its version is {}, this program knows versions up to {}: use a newer kedged",
                                    version, known));
  for (std::int64_t v = version; v < known; ++v) {
    connection.execute(kMigrations[static_cast<std::size_t>(v)]);
    connection.execute(fmt::format("INSERT INTO schema_version VALUES ({})", v + 1));   // for programs that know no other place
  }
  KEDGE_FAIL_POINT("store.migrate.before");
  connection.execute(fmt::format("PRAGMA user_version = {}; COMMIT", known));
  KEDGE_FAIL_POINT("store.migrate.after");
}

}  // namespace kedge::server
