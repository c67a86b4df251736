// The writing statements of the job store: see store_writer.h.
#include "server/jobs/store_writer.h"

#include "schemas/codec.h"

namespace kedge::server {

// States from 4 (schema::JobState::kSucceeded) on are final.
SqlStoreWriter::SqlStoreWriter(SqliteConnection& connection)
    : connection_(connection),
      begin_(connection, "BEGIN IMMEDIATE"),
      commit_(connection, "COMMIT"),
      probe_(connection, "UPDATE probe SET n = n + 1"),
      insert_job_(connection, "INSERT INTO jobs (id, state, wish, created, last_seq, tenant) VALUES (?1, ?2, ?3, ?4, 1, ?5)"),
      insert_spec_(connection, "INSERT INTO specs (job, bytes) VALUES (?1, ?2)"),
      change_(connection,
              "UPDATE jobs SET state = ?2, reason = ?3, error = ?4, "
              "lease_token = CASE WHEN ?5 != 0 THEN ?5 ELSE lease_token END, attempts = attempts + ?6, "
              "crashes = crashes + ?7, device = COALESCE(?8, device), started = COALESCE(started, ?9), ended = ?10, "
              "last_seq = last_seq + ?11 WHERE id = ?1 AND state < 4 AND (?12 = 0 OR lease_token = ?12) "
              "RETURNING last_seq"),
      next_seq_(connection,
                "UPDATE jobs SET last_seq = last_seq + 1 WHERE id = ?1 AND state < 4 AND (?2 = 0 OR lease_token = ?2) "
                "RETURNING last_seq"),
      insert_event_(connection, "INSERT INTO events (job, seq, time, bytes) VALUES (?1, ?2, ?3, ?4)"),
      insert_result_(connection, "INSERT INTO results (job, bytes) VALUES (?1, ?2)"),
      request_cancel_(connection, "UPDATE jobs SET cancel_requested = 1 WHERE id = ?1 AND state < 4"),
      insert_model_(connection, "INSERT INTO models (id, bytes) VALUES (?1, ?2)"),
      delete_model_(connection, "DELETE FROM models WHERE id = ?1 RETURNING id") {
  static_assert(static_cast<int>(schema::JobState::kSucceeded) == 4);
}

void SqlStoreWriter::roll_back() {
  if (connection_.in_transaction()) connection_.execute("ROLLBACK");
}

void SqlStoreWriter::insert(const schema::Job& job, std::string_view tenant) {
  insert_job_.run(job.id, static_cast<std::int64_t>(schema::JobState::kQueued), job.spec.device, job.created, tenant);
  insert_spec_.run(job.id, schema::to_binary(job.spec));
  insert_event(job.id, 1, job.created, schema::StateEvent{.state = schema::JobState::kQueued});
}

bool SqlStoreWriter::change(const StateChange& change) {
  const std::optional<std::string> now = change.time;
  const std::optional<std::string> never;
  const std::optional<Bytes> error = change.error ? std::optional(schema::to_binary(*change.error)) : std::nullopt;
  std::int64_t seq = 0;
  {
    SqliteStatement::Rows rows = change_.open(
        change.job, static_cast<std::int64_t>(change.state), change.reason, error, change.new_lease,
        static_cast<std::int64_t>(change.starts_attempt), static_cast<std::int64_t>(change.crashed), change.device,
        change.starts_attempt ? now : never, schema::is_final(change.state) ? now : never,
        static_cast<std::int64_t>(change.result ? 2 : 1), change.held_lease);
    if (!rows.next()) return false;
    seq = rows.integer(0);
    while (rows.next()) {   // a statement with RETURNING takes effect for good only when it has run to its end
    }
  }
  if (change.model) insert_model(*change.model);
  if (change.result) {
    insert_result_.run(change.job, schema::to_binary(*change.result));
    insert_event_.run(change.job, seq - 1, change.time, std::optional<Bytes>());
  }
  insert_event(change.job, seq, change.time,
               schema::StateEvent{.state = change.state, .reason = change.reason, .error = change.error});
  return true;
}

bool SqlStoreWriter::append(std::string_view job, std::int64_t held_lease, std::string_view time,
                            const schema::EventBody& body) {
  std::int64_t seq = 0;
  {
    SqliteStatement::Rows rows = next_seq_.open(job, held_lease);
    if (!rows.next()) return false;
    seq = rows.integer(0);
    while (rows.next()) {
    }
  }
  insert_event(job, seq, time, body);
  return true;
}

void SqlStoreWriter::request_cancel(std::string_view job) { request_cancel_.run(job); }

void SqlStoreWriter::insert_model(const schema::ModelInfo& model) { insert_model_.run(model.id, schema::to_binary(model)); }

bool SqlStoreWriter::delete_model(std::string_view id) {
  SqliteStatement::Rows rows = delete_model_.open(id);
  const bool is_there = rows.next();
  while (rows.next()) {   // a statement with RETURNING takes effect for good only when it has run to its end
  }
  return is_there;
}

void SqlStoreWriter::insert_event(std::string_view job, std::int64_t seq, std::string_view time,
                                  const schema::EventBody& body) {
  insert_event_.run(job, seq, time, schema::to_binary(schema::Event{.body = body}));
}

}  // namespace kedge::server
