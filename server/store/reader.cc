// The reading statements of the job store: see store_reader.h.
#include "server/store/reader.h"

#include <fmt/core.h>

#include "crypto/digest.h"
#include "engine/faults/fail_point.h"
#include "schemas/codec.h"
#include "server/data/inline_data.h"
#include "server/store/clock.h"
#include "server/store/job_search.h"
#include "server/store/result_headline.h"
#include "server/store/schema.h"

namespace kedge::server {
namespace {

constexpr std::string_view kJobColumns = "SELECT id, state, reason, error, attempts, created, started, ended, "
    "COALESCE((SELECT bytes FROM shown_specs WHERE job = jobs.id), (SELECT bytes FROM specs WHERE job = jobs.id))";

// A page ends with the job or model that reaches so many bytes; as JSON it is about twice as long.
constexpr std::size_t kPageBytes = 4 << 20;

// Results are read for lists up to this size each and in all, so that a page costs little: searches of some hundred candidates are below it.
constexpr std::int64_t kLongestListed = 256 << 10, kAllListed = 8 << 20;
constexpr std::string_view kListedResult =
    "(SELECT CASE WHEN length(results.bytes) <= 262144 THEN results.bytes END FROM results WHERE results.job = jobs.id)";
static_assert(kLongestListed == 262144);

constexpr std::int64_t kMostScanned = 20'000;   // jobs that a search looks at for one page

constexpr std::string_view kListed = "id < ?2 AND (?3 IS NULL OR state = ?3)";
constexpr std::string_view kModels = "SELECT bytes, (SELECT bytes FROM model_files WHERE model_files.id = models.id) FROM models";

schema::Job read_job(const SqliteStatement::Rows& rows) {
  schema::Job job{.id = rows.text(0),
                  .state = static_cast<schema::JobState>(rows.integer(1)),
                  .reason = rows.text(2),
                  .spec = schema::from_binary<schema::JobSpec>(rows.blob(8)),
                  .attempts = rows.integer(4),
                  .created = rows.text(5),
                  .started = rows.text(6),
                  .ended = rows.text(7)};
  if (!rows.is_null(3)) job.error = schema::from_binary<schema::Error>(rows.blob(3));
  return job;
}

// Of a listed job that has succeeded, from its result in `column`; returns how many bytes were read for it.
constexpr int kResultColumn = 9;
std::int64_t add_headline(schema::Job& job, const SqliteStatement::Rows& rows, int column = kResultColumn) {
  if (job.state != schema::JobState::kSucceeded || rows.is_null(column)) return 0;
  const auto bytes = rows.blob(column);
  job.result = headline(schema::from_binary<schema::Result>(bytes));
  return static_cast<std::int64_t>(bytes.size());
}

schema::ModelInfo read_model(const SqliteStatement::Rows& rows) {
  auto model = schema::from_binary<schema::ModelInfo>(rows.blob(0));
  if (model.sha256.empty() && !rows.is_null(1)) {
    const std::span<const std::byte> file = rows.blob(1);
    model.sha256 = crypto::sha256_hex({reinterpret_cast<const char*>(file.data()), file.size()});
  }
  return model;
}

std::vector<Expired> read_expired(SqliteStatement::Rows rows) {
  std::vector<Expired> found;
  while (rows.next()) found.push_back({.job = rows.text(0), .first_kept = rows.integer(1), .tenant = rows.text(2)});
  return found;
}

}  // namespace

StoreReader::StoreReader(const std::filesystem::path& file)
    : connection_(file, SqliteConnection::Mode::kReadOnly),
      find_(connection_,
            fmt::format("{}, tenant, results.bytes FROM jobs LEFT JOIN results ON results.job = jobs.id WHERE id = ?1",
                        kJobColumns)),
      spec_(connection_, "SELECT bytes FROM specs WHERE job = ?1"),
      tenant_(connection_, "SELECT tenant FROM jobs WHERE id = ?1"),
      trace_(connection_, "SELECT trace FROM jobs WHERE id = ?1"),
      key_(connection_, "SELECT 1 FROM idempotency WHERE tenant = ?1 AND key = ?2"),
      list_(connection_,
            fmt::format("{}, {} FROM jobs WHERE {} ORDER BY id DESC LIMIT ?1", kJobColumns, kListedResult, kListed)),
      list_tenant_(connection_, fmt::format("{}, {} FROM jobs WHERE tenant = ?4 AND {} ORDER BY id DESC LIMIT ?1",
                                            kJobColumns, kListedResult, kListed)),
      scan_(connection_, fmt::format("{} FROM jobs WHERE (?4 IS NULL OR tenant = ?4) AND {} ORDER BY id DESC LIMIT ?1",
                                     kJobColumns, kListed)),
      listed_result_(connection_, fmt::format("SELECT {} FROM jobs WHERE id = ?1", kListedResult)),
      last_change_(connection_, kLastChange),
      changes_(connection_, fmt::format("{}, {}, changed FROM jobs WHERE changed > ?1 AND (?3 IS NULL OR tenant = ?3) "
                                        "ORDER BY changed LIMIT ?2",
                                        kJobColumns, kListedResult)),
      events_(connection_,
              "SELECT seq, time, COALESCE(events.bytes, results.bytes), events.bytes IS NULL FROM events "
              "LEFT JOIN results ON results.job = events.job AND events.bytes IS NULL "
              "WHERE events.job = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"),
      last_id_(connection_, "SELECT COALESCE(MAX(id), '') FROM jobs"),
      find_model_(connection_, fmt::format("{} WHERE id = ?1", kModels)),
      model_tenant_(connection_, "SELECT tenant FROM models WHERE id = ?1"),
      list_models_(connection_,
                   fmt::format("{} WHERE id < ?2 AND (?3 IS NULL OR tenant = ?3) ORDER BY id DESC LIMIT ?1", kModels)),
      model_bytes_(connection_, "SELECT bytes FROM model_files WHERE id = ?1"),
      registry_(connection_) {}

std::optional<OwnedJob> StoreReader::find(std::string_view id) {
  SqliteStatement::Rows rows = find_.open(id);
  if (!rows.next()) return std::nullopt;
  OwnedJob found{.job = read_job(rows), .tenant = rows.text(9)};
  leave_out_data(found.job.spec, kLongestShownData);
  if (found.job.state == schema::JobState::kSucceeded && !rows.is_null(10)) found.job.result = schema::from_binary<schema::Result>(rows.blob(10));
  return found;
}

std::optional<schema::JobSpec> StoreReader::spec(std::string_view id) {
  SqliteStatement::Rows rows = spec_.open(id);
  if (!rows.next()) return std::nullopt;
  return schema::from_binary<schema::JobSpec>(rows.blob(0));
}

std::optional<std::string> StoreReader::tenant(std::string_view id) {
  SqliteStatement::Rows rows = tenant_.open(id);
  return rows.next() ? std::optional(rows.text(0)) : std::nullopt;
}

std::string StoreReader::trace(std::string_view id) {
  SqliteStatement::Rows rows = trace_.open(id);
  return rows.next() ? rows.text(0) : std::string();
}

bool StoreReader::has_key(std::string_view tenant, std::string_view key) { return key_.open(tenant, key).next(); }

schema::JobPage StoreReader::list(std::optional<schema::JobState> state, std::int64_t page_size, std::string_view before,
                                  const std::optional<std::string>& tenant) {
  const std::string_view bound = before.empty() ? std::string_view("~") : before;   // "~" sorts after every id
  const std::int64_t limit = page_size + 1;   // one more shows whether there is a next page
  const auto wanted = state ? std::optional(static_cast<std::int64_t>(*state)) : std::nullopt;
  schema::JobPage page;
  SqliteStatement::Rows rows =
      tenant ? list_tenant_.open(limit, bound, wanted, *tenant) : list_.open(limit, bound, wanted);
  std::int64_t results = 0;   // bytes of those that were read
  for (std::size_t bytes = 0; rows.next();) {
    if (static_cast<std::int64_t>(page.jobs.size()) == page_size || (bytes >= kPageBytes && !KEDGE_CONTROL("whole-lists"))) {
      page.nextPageToken = page.jobs.back().id;
      break;
    }
    schema::Job job = read_job(rows);
    if (!KEDGE_CONTROL("whole-lists")) leave_out_data(job.spec, 0);
    bytes += rows.blob(8).size() + rows.blob(3).size();
    page.jobs.push_back(std::move(job));
    if (results < kAllListed) results += add_headline(page.jobs.back(), rows);
  }
  return page;
}

schema::JobPage StoreReader::search(std::string_view words, std::optional<schema::JobState> state,
                                    std::int64_t page_size, std::string_view before,
                                    const std::optional<std::string>& tenant) {
  const JobSearch search(words);
  const auto wanted = state ? std::optional(static_cast<std::int64_t>(*state)) : std::nullopt;
  schema::JobPage page;
  std::string last;   // that was looked at
  std::int64_t scanned = 0;
  SqliteStatement::Rows rows =
      scan_.open(kMostScanned + 1, before.empty() ? std::string_view("~") : before, wanted, tenant);
  while (rows.next()) {
    if (static_cast<std::int64_t>(page.jobs.size()) == page_size || ++scanned > kMostScanned) {
      page.nextPageToken = last;
      break;
    }
    schema::Job job = read_job(rows);
    last = job.id;
    leave_out_data(job.spec, 0);
    if (search.finds(job)) page.jobs.push_back(std::move(job));
  }
  for (schema::Job& job : page.jobs)
    if (SqliteStatement::Rows result = listed_result_.open(job.id); result.next()) add_headline(job, result, 0);
  return page;
}

// The position is read first: what the second statement sees is at least as new.
JobChanges StoreReader::changes(std::int64_t after, std::size_t limit, const std::optional<std::string>& tenant) {
  JobChanges changes;
  if (SqliteStatement::Rows last = last_change_.open(); last.next()) changes.position = last.integer(0);
  SqliteStatement::Rows rows = changes_.open(after, static_cast<std::int64_t>(limit), tenant);
  while (rows.next()) {
    schema::Job job = read_job(rows);
    leave_out_data(job.spec, 0);
    add_headline(job, rows);
    changes.jobs.push_back({.position = rows.integer(kResultColumn + 1), .job = std::move(job)});
  }
  changes.more = changes.jobs.size() == limit;
  if (!changes.jobs.empty() && (changes.more || changes.jobs.back().position > changes.position))
    changes.position = changes.jobs.back().position;
  return changes;
}

std::vector<schema::Event> StoreReader::events(std::string_view id, std::int64_t after, std::size_t limit) {
  std::vector<schema::Event> events;
  SqliteStatement::Rows rows = events_.open(id, after, static_cast<std::int64_t>(limit));
  while (rows.next()) {
    schema::Event event;
    if (rows.integer(3) != 0)
      event.body = schema::ResultEvent{schema::from_binary<schema::Result>(rows.blob(2))};
    else
      event = schema::from_binary<schema::Event>(rows.blob(2));
    event.id = rows.integer(0), event.time = rows.text(1);
    events.push_back(std::move(event));
  }
  if (!events.empty() && events.front().id > after + 1 && !KEDGE_CONTROL("hide-gaps")) {
    events.insert(events.begin(), gap(id, after + 1, events.front().id - 1));
    if (events.size() > limit) events.pop_back();
  }
  return events;
}

schema::Event StoreReader::gap(std::string_view id, std::int64_t from, std::int64_t to) {
  std::optional<OwnedJob> found = find(id);
  return {.id = to,
          .time = format_time(std::chrono::system_clock::now()),
          .body = schema::GapEvent{.from = from, .to = to, .job = found ? std::move(found->job) : schema::Job{.id = std::string(id)}}};
}

std::map<std::string, std::int64_t> StoreReader::crashes_since(std::string_view time) {
  SqliteStatement statement(connection_,
                            "SELECT tenant || char(10) || digest, COUNT(*) FROM jobs WHERE state = ?1 AND reason = ?2 "
                            "AND ended > ?3 GROUP BY 1");
  SqliteStatement::Rows rows = statement.open(static_cast<std::int64_t>(schema::JobState::kFailed),
                                              schema::error_code_name(schema::ErrorCode::kWorkerCrashed), time);
  std::map<std::string, std::int64_t> counts;
  while (rows.next()) counts[rows.text(0)] = rows.integer(1);
  return counts;
}

std::vector<Expired> StoreReader::ended_before(std::string_view time, std::int64_t limit) {
  SqliteStatement statement(connection_, "SELECT id, last_seq, tenant FROM jobs WHERE ended < ?1 ORDER BY ended LIMIT ?2");
  return read_expired(statement.open(time, limit));
}

std::vector<Expired> StoreReader::events_ended_before(std::string_view time, std::int64_t limit) {
  SqliteStatement statement(connection_,   // the result's event and the last state stay
                            "SELECT id, last_seq - 1, tenant FROM jobs WHERE ended < ?1 AND first_seq < last_seq - 1 "
                            "ORDER BY ended LIMIT ?2");
  return read_expired(statement.open(time, limit));
}

std::vector<Expired> StoreReader::with_more_events_than(std::int64_t events, std::int64_t limit) {
  SqliteStatement statement(connection_,
                            "SELECT id, last_seq - ?1 + 1, tenant FROM jobs WHERE last_seq - first_seq >= ?1 LIMIT ?2");
  return read_expired(statement.open(events, limit));
}

std::int64_t StoreReader::used_bytes() {
  const auto number = [&](std::string_view sql) {
    SqliteStatement statement(connection_, sql);
    SqliteStatement::Rows rows = statement.open();
    return rows.next() ? rows.integer(0) : 0;
  };
  return (number("PRAGMA page_count") - number("PRAGMA freelist_count")) * number("PRAGMA page_size");
}

std::string StoreReader::last_job_id() {
  SqliteStatement::Rows rows = last_id_.open();
  return rows.next() ? rows.text(0) : std::string();
}

std::optional<schema::ModelInfo> StoreReader::find_model(std::string_view id) {
  SqliteStatement::Rows rows = find_model_.open(id);
  if (!rows.next()) return std::nullopt;
  return read_model(rows);
}

std::map<std::string, std::uint64_t> StoreReader::model_bytes_by_tenant() {
  SqliteStatement statement(connection_, "SELECT tenant, bytes FROM models");
  SqliteStatement::Rows rows = statement.open();
  std::map<std::string, std::uint64_t> sums;
  while (rows.next())
    sums[rows.text(0)] += static_cast<std::uint64_t>(schema::from_binary<schema::ModelInfo>(rows.blob(1)).bytes);
  return sums;
}

std::optional<std::string> StoreReader::model_tenant(std::string_view id) {
  SqliteStatement::Rows rows = model_tenant_.open(id);
  return rows.next() ? std::optional(rows.text(0)) : std::nullopt;
}

schema::ModelPage StoreReader::list_models(std::int64_t page_size, std::string_view before, const std::optional<std::string>& tenant) {
  schema::ModelPage page;
  SqliteStatement::Rows rows = list_models_.open(page_size + 1, before.empty() ? std::string_view("~") : before, tenant);
  for (std::size_t bytes = 0; rows.next();) {
    if (static_cast<std::int64_t>(page.models.size()) == page_size || bytes >= kPageBytes) {
      page.nextPageToken = page.models.back().id;
      break;
    }
    bytes += rows.blob(0).size();
    page.models.push_back(read_model(rows));
  }
  return page;
}

std::vector<std::string> StoreReader::unsettled_models() {
  SqliteStatement statement(connection_, "SELECT id FROM model_files");
  std::vector<std::string> ids;
  for (SqliteStatement::Rows rows = statement.open(); rows.next();) ids.push_back(rows.text(0));
  return ids;
}

std::optional<std::string> StoreReader::model_bytes(std::string_view id) {
  SqliteStatement::Rows rows = model_bytes_.open(id);
  if (!rows.next()) return std::nullopt;
  const std::span<const std::byte> bytes = rows.blob(0);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace kedge::server
