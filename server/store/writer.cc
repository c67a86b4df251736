// The writing statements of the job store: see store_writer.h.
#include "server/store/writer.h"

#include <fmt/core.h>

#include <chrono>
#include <limits>

#include "engine/faults/fail_point.h"
#include "schemas/codec.h"
#include "server/store/schema.h"

namespace kedge::server {
namespace {

constexpr std::int64_t kKeySeconds = 24 * 60 * 60;   // for which an Idempotency-Key is kept

// Wall time: keys are kept across restarts.
std::int64_t wall_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The lease that a write must hold; 0: any.
std::int64_t fence(std::int64_t held_lease) { return KEDGE_CONTROL("publish-stale-results") ? 0 : held_lease; }

}  // namespace

// States from 4 (schema::JobState::kSucceeded) on are final.
SqlStoreWriter::SqlStoreWriter(SqliteConnection& connection)
    : connection_(connection),
      begin_(connection, "BEGIN IMMEDIATE"),
      commit_(connection, "COMMIT"),
      probe_(connection, "UPDATE probe SET n = n + 1"),
      insert_job_(
          connection,
          "INSERT INTO jobs (id, state, wish, created, last_seq, tenant, digest, trace, changed) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8)"),
      insert_spec_(connection, "INSERT INTO specs (job, bytes) VALUES (?1, ?2)"),
      insert_shown_spec_(connection, "INSERT INTO shown_specs (job, bytes) VALUES (?1, ?2)"),
      change_(connection,
              "UPDATE jobs SET state = ?2, reason = ?3, error = ?4, "
              "lease_token = CASE WHEN ?5 != 0 THEN ?5 ELSE lease_token END, attempts = attempts + ?6, "
              "crashes = crashes + ?7, device = COALESCE(?8, device), started = COALESCE(started, ?9), ended = ?10, "
              "last_seq = last_seq + ?11, changed = ?13 WHERE id = ?1 AND state < 4 AND (?12 = 0 OR lease_token = ?12) "
              "RETURNING last_seq"),
      next_seq_(connection,
                "UPDATE jobs SET last_seq = last_seq + 1 WHERE id = ?1 AND state < 4 AND (?2 = 0 OR lease_token = ?2) "
                "RETURNING last_seq"),
      insert_event_(connection, "INSERT INTO events (job, seq, time, bytes) VALUES (?1, ?2, ?3, ?4)"),
      insert_result_(connection, "INSERT INTO results (job, bytes) VALUES (?1, ?2)"),
      request_cancel_(connection, "UPDATE jobs SET cancel_requested = 1 WHERE id = ?1 AND state < 4"),
      find_key_(
          connection,
          "SELECT digest, job, created, EXISTS (SELECT 1 FROM jobs WHERE jobs.id = job) FROM idempotency WHERE tenant = ?1 AND key = ?2 AND time > ?3"),
      insert_key_(
          connection,
          "INSERT OR REPLACE INTO idempotency (tenant, key, digest, job, created, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
      expire_keys_(connection, "DELETE FROM idempotency WHERE time <= ?1"),
      trim_(connection, "DELETE FROM events WHERE job = ?1 AND seq < ?2"),
      trimmed_(connection, "UPDATE jobs SET first_seq = MAX(first_seq, ?2) WHERE id = ?1"),
      forget_changes_(connection, "UPDATE forgotten_changes SET last = MAX(last, ?1)"),
      remove_job_(connection, "DELETE FROM jobs WHERE id = ?1 AND state >= 4"),
      remove_spec_(connection, "DELETE FROM specs WHERE job = ?1"),
      remove_shown_spec_(connection, "DELETE FROM shown_specs WHERE job = ?1"),
      remove_result_(connection, "DELETE FROM results WHERE job = ?1"),
      insert_model_(
          connection,
          "INSERT INTO models (id, bytes, tenant) VALUES (?1, ?2, COALESCE((SELECT tenant FROM jobs WHERE id = ?4), ?3))"),
      update_model_(connection, "UPDATE models SET bytes = ?2 WHERE id = ?1"),
      delete_model_(connection, "DELETE FROM models WHERE id = ?1 RETURNING id"),
      insert_model_file_(connection, "INSERT INTO model_files (id, bytes) VALUES (?1, ?2)"),
      delete_model_file_(connection, "DELETE FROM model_files WHERE id = ?1"),
      registry_(connection) {
  static_assert(static_cast<int>(schema::JobState::kSucceeded) == 4);
  SqliteStatement last(connection, kLastChange);
  SqliteStatement::Rows rows = last.open();
  if (rows.next()) last_change_ = rows.integer(0);
}

void SqlStoreWriter::begin() {
  KEDGE_FAIL_POINT("store.begin.before");
  begin_.run();
  has_removed_ = has_changed_list_ = has_used_registry_ = false;
  KEDGE_FAIL_POINT("store.begin.after");
}

void SqlStoreWriter::commit() {
  KEDGE_FAIL_POINT("store.commit.before");
  commit_.run();
  KEDGE_FAIL_POINT("store.commit.after");
}

void SqlStoreWriter::roll_back() {
  if (connection_.in_transaction()) connection_.execute("ROLLBACK");
}

std::optional<schema::Job> SqlStoreWriter::insert(const NewJob& given) {
  const schema::Job& job = given.job;
  if (!given.idempotency_key.empty()) {
    const std::int64_t now = wall_seconds();
    if (auto first = find_key(given, now)) return first;
    KEDGE_FAIL_POINT("store.key.before");
    insert_key_.run(given.tenant, given.idempotency_key, given.digest, job.id, job.created, now);
    KEDGE_FAIL_POINT("store.key.after");
  }
  KEDGE_FAIL_POINT("store.insert.before");
  insert_job_.run(job.id, static_cast<std::int64_t>(schema::JobState::kQueued), job.spec.device, job.created,
                  given.tenant, given.digest, given.trace, next_change());
  insert_spec_.run(job.id, schema::to_binary(job.spec));
  if (given.shown) insert_shown_spec_.run(job.id, schema::to_binary(*given.shown));
  insert_event(job.id, 1, job.created, schema::StateEvent{.state = schema::JobState::kQueued});
  KEDGE_FAIL_POINT("store.insert.after");
  return std::nullopt;
}

std::optional<schema::Job> SqlStoreWriter::find_key(const NewJob& job, std::int64_t now) {
  SqliteStatement::Rows rows = find_key_.open(job.tenant, job.idempotency_key, now - kKeySeconds);
  if (!rows.next()) return std::nullopt;
  if (rows.text(0) != job.digest)
    throw schema::Error(schema::ErrorCode::kIdempotencyKeyReused,
                        fmt::format("the Idempotency-Key '{}' was used for another job, {}", job.idempotency_key, rows.text(1)),
                        "Idempotency-Key");
  if (rows.integer(3) == 0)
    throw schema::Error(schema::ErrorCode::kNotFound,
                        fmt::format("the Idempotency-Key '{}' made the job {}, which has been forgotten since; a new job needs a new key",
                                    job.idempotency_key, rows.text(1)),
                        "Idempotency-Key");
  return schema::Job{.id = rows.text(1), .spec = job.shown.value_or(job.job.spec), .created = rows.text(2)};
}

void SqlStoreWriter::remove(std::string_view job) {
  KEDGE_FAIL_POINT("store.remove.before");
  forget_changes_.run(last_change_);
  remove_job_.run(job);
  remove_spec_.run(job);
  remove_shown_spec_.run(job);
  remove_result_.run(job);
  trim_.run(job, std::numeric_limits<std::int64_t>::max());
  has_removed_ = true;
  KEDGE_FAIL_POINT("store.remove.after");
}

void SqlStoreWriter::trim_events(std::string_view job, std::int64_t first) {
  trim_.run(job, first);
  trimmed_.run(job, first);
}

void SqlStoreWriter::expire_keys() { expire_keys_.run(wall_seconds() - kKeySeconds); }

bool SqlStoreWriter::change(StateChange& change) {
  KEDGE_FAIL_POINT("store.change.before");
  const std::optional<std::string> now = change.time;
  const std::optional<std::string> never;
  const bool has_failed = change.error && schema::is_final(change.state);   // else the error is of an attempt
  const std::optional<Bytes> error = has_failed ? std::optional(schema::to_binary(*change.error)) : std::nullopt;
  std::int64_t seq = 0;
  {
    SqliteStatement::Rows rows =
        change_.open(change.job, static_cast<std::int64_t>(change.state), change.reason, error, change.new_lease,
                     static_cast<std::int64_t>(change.starts_attempt), static_cast<std::int64_t>(change.crashed),
                     change.device, change.starts_attempt ? now : never, schema::is_final(change.state) ? now : never,
                     static_cast<std::int64_t>(change.result ? 2 : 1), fence(change.held_lease), next_change());
    if (!rows.next()) return false;
    seq = rows.integer(0);
    while (rows.next()) {   // a statement with RETURNING takes effect for good only when it has run to its end
    }
  }
  if (change.model) insert_model(*change.model, {});
  if (change.model && change.result && !change.register_as.empty()) register_model(change);
  if (change.result) {
    KEDGE_FAIL_POINT("store.result.before");
    insert_result_.run(change.job, schema::to_binary(*change.result));
    insert_event_.run(change.job, seq - 1, change.time, std::optional<Bytes>());
    KEDGE_FAIL_POINT("store.result.after");
  }
  insert_event(change.job, seq, change.time,
               schema::StateEvent{
                   .state = change.state, .reason = change.reason, .error = change.error, .device = change.starts_attempt ? change.device.value_or("") : ""});
  KEDGE_FAIL_POINT("store.change.after");
  return true;
}

bool SqlStoreWriter::append(std::string_view job, std::int64_t held_lease, std::string_view time,
                            const schema::EventBody& body) {
  std::int64_t seq = 0;
  {
    SqliteStatement::Rows rows = next_seq_.open(job, fence(held_lease));
    if (!rows.next()) return false;
    seq = rows.integer(0);
    while (rows.next()) {
    }
  }
  KEDGE_FAIL_POINT("store.append.before");
  insert_event(job, seq, time, body);
  KEDGE_FAIL_POINT("store.append.after");
  return true;
}

// The registry refuses before it writes, so a refusal leaves the rest of the transaction as it is.
void SqlStoreWriter::register_model(StateChange& change) {
  schema::Result& result = *change.result;
  try {
    const RegistryWriter::Added added = registry().add_version(
        change.tenant, {.name = change.register_as, .model = change.model->info.id, .created = change.time});
    result.registered = fmt::format("{}/{}", added.version.name, added.version.version);
  } catch (const schema::Error& error) {
    if (error.code != schema::ErrorCode::kConflict) throw;
    std::string text = fmt::format("the model was not registered as '{}': {}", change.register_as, error.message);
    const bool is_again =
        !result.warnings.empty() && result.warnings.back() == text;   // after a transaction that was rolled back
    if (!is_again) result.warnings.push_back(std::move(text));
  }
}

void SqlStoreWriter::request_cancel(std::string_view job) {
  KEDGE_FAIL_POINT("store.cancel.before");
  request_cancel_.run(job);
  KEDGE_FAIL_POINT("store.cancel.after");
}

void SqlStoreWriter::insert_model(const NewModel& model, std::string_view tenant) {
  insert_model_.run(model.info.id, schema::to_binary(model.info), tenant, model.info.job);
  if (!model.bytes.empty()) insert_model_file_.run(model.info.id, std::as_bytes(std::span(model.bytes)));
}

void SqlStoreWriter::settle_model(const schema::ModelInfo& model) {
  update_model_.run(model.id, schema::to_binary(model));
  delete_model_file_.run(model.id);
}

bool SqlStoreWriter::delete_model(std::string_view id) {
  delete_model_file_.run(id);
  SqliteStatement::Rows rows = delete_model_.open(id);
  const bool is_there = rows.next();
  while (rows.next()) {   // a statement with RETURNING takes effect for good only when it has run to its end
  }
  return is_there;
}

std::int64_t SqlStoreWriter::next_change() {
  has_changed_list_ = true;
  return ++last_change_;
}

void SqlStoreWriter::insert_event(std::string_view job, std::int64_t seq, std::string_view time,
                                  const schema::EventBody& body) {
  insert_event_.run(job, seq, time, schema::to_binary(schema::Event{.body = body}));
}

}  // namespace kedge::server
