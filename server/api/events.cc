// /v1/jobs/{id}/events and /v1/events: server-sent events or lines of JSON.
#include "server/api/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "engine/faults/fail_point.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/list_events.h"
#include "server/api/ownership.h"

namespace kedge::server::api {
namespace {

using http::Peer;
using schema::Event;

constexpr std::size_t kBatch = 256;             // events sent at once, of all jobs of a stream
constexpr std::size_t kBatchBytes = 64 << 10;   // of their text, behind which no event begins: so much and one event is what a stream holds
constexpr std::size_t kAtOnce = 8;   // events read at once: a large one is not read with many others
constexpr std::size_t kMaxJobs = 64;  // of one stream
constexpr std::size_t kTraceAt = 3, kTraceSize = 32;  // of the id in a traceparent

struct JobCursor {
  std::string id;
  std::int64_t after = 0;
  bool ended = false;
  std::string trace_id = {};   // of the request that submitted it (W3C); empty: none is known
};

// Where a stream is in the logs of its jobs. As text: the last number of each, with dots between them, in the order of the
// request; for one job so just its number.
struct Cursor {
  std::vector<JobCursor> jobs;
  bool names_jobs = false;  // each event says whose it is
  bool follows = true;      // else the stream ends behind what is stored now

  std::string text() const {
    std::string out;
    for (const JobCursor& job : jobs) fmt::format_to(std::back_inserter(out), "{}{}", out.empty() ? "" : ".", job.after);
    return out;
  }
  bool ended() const { return std::ranges::all_of(jobs, &JobCursor::ended); }
};

// What is sent for an event, after an idle while, at the beginning and at the server's stop.
struct Framing {
  std::string_view first, idle, stopping;
  void (*append)(std::string& out, const Cursor& cursor, const Event& event, const std::string& json);
};

void append_sse(std::string& out, const Cursor& cursor, const Event& event, const std::string& json) {
  fmt::format_to(std::back_inserter(out), "id: {}\nevent: {}\ndata: {}\n\n", cursor.text(), schema::event_name(event.body), json);
}

void append_line(std::string& out, const Cursor&, const Event&, const std::string& json) { out.append(json).append("\n"); }

constexpr Framing kSseFraming{"retry: 2000\n\n", ":\n\n", "retry: 1000\nevent: shutdown\ndata: {}\n\n", append_sse};
constexpr Framing kNdjsonFraming{"", "\n", "", append_line};

bool is_last(const Event& event) {
  const auto* state = std::get_if<schema::StateEvent>(&event.body);
  return state && is_final(state->state);
}

std::string json_of(const Cursor& cursor, const JobCursor& job, const Event& event) {
  std::string json = schema::to_json(event);
  if (!job.trace_id.empty()) json.insert(json.size() - 1, fmt::format(",\"traceId\":\"{}\"", job.trace_id));
  if (cursor.names_jobs) json.insert(1, fmt::format("\"job\":\"{}\",", job.id));
  return json;
}

void read_traces(const JobService& jobs, Cursor& cursor) {
  for (JobCursor& job : cursor.jobs)
    if (const std::string trace = jobs.trace(job.id); trace.size() > kTraceAt + kTraceSize) job.trace_id = trace.substr(kTraceAt, kTraceSize);
}

// Reads on from the cursor of one job. `cursor` and `at` say how its events are sent.
EventText next_of(const JobService& jobs, const Framing& framing, Cursor& cursor, JobCursor& at) {
  EventText read{.next = at.after};
  const std::size_t most_bytes = KEDGE_CONTROL("unbounded-answers") ? std::numeric_limits<std::size_t>::max() : kBatchBytes;
  const std::size_t most = kBatch / cursor.jobs.size(), at_once = std::min(kAtOnce, most);
  for (std::size_t told = 0; !read.more;) {
    const std::vector<Event> events = jobs.events(at.id, at.after, at_once);
    for (const Event& event : events) {
      if (told == most || read.text.size() >= most_bytes) break;
      at.after = event.id, ++told;
      at.ended = at.ended || is_last(event);
      framing.append(read.text, cursor, event, json_of(cursor, at, event));
    }
    if (events.size() < at_once && (events.empty() || events.back().id == at.after)) break;
    read.more = told == most || read.text.size() >= most_bytes;
  }
  read.next = at.after, read.ended = at.ended;
  return read;
}

// Reads on from the cursors of all jobs, and moves them.
EventText next_text(const JobService& jobs, const Framing& framing, Cursor& cursor) {
  EventText all;
  for (JobCursor& job : cursor.jobs) {
    if (job.ended) continue;
    const EventText read = next_of(jobs, framing, cursor, job);
    all.text += read.text;
    all.more = all.more || read.more;
    if (all.text.size() >= kBatchBytes) break;   // the next jobs have their turn with the next text
  }
  return all;
}

// Marks the jobs that have no more events: the client wants what comes after the last event.
void mark_ended(const JobService& jobs, Cursor& cursor) {
  for (JobCursor& job : cursor.jobs) {
    if (job.ended) continue;
    const auto found = jobs.find(job.id);
    job.ended = !found || (is_final(found->state) && jobs.events(job.id, job.after, 1).empty());
  }
}

// The next text of a stream. Streams of one job read it together; those of several jobs each have their own numbers.
awaitable<std::shared_ptr<const EventText>> read_on(const Api& api, std::shared_ptr<Peer> peer, Cursor& cursor, const Framing& framing) {
  if (cursor.names_jobs) {
    auto read = [&] { return next_text(api.jobs, framing, cursor); };
    EventText text = co_await peer->offload(read);
    co_return std::make_shared<const EventText>(std::move(text));
  }
  JobCursor& job = cursor.jobs.front();
  std::function<EventText()> read = [&] {
    Cursor own = cursor;
    return next_of(api.jobs, framing, own, own.jobs.front());
  };
  SharedReads::Key key(job.id, job.after, &framing);
  const auto text = co_await api.reads->get(peer, std::move(key), read);
  job.after = text->next;
  job.ended = text->ended;
  co_return text;
}

// A stream that is being written.
struct Telling {
  std::shared_ptr<Peer> peer;
  http::BodyWriter& out;
  Peer::Clock::time_point quiet_until = {};
  std::size_t room = kBatchBytes;   // what the next text needs
  bool is_dry = false;              // all that is stored has been sent
};

// Writes what there is. True if there may be more; if not, the bell rings when an event comes, or when there is room
// again. A text that turns out to be larger than what was reserved for it is dropped and read again when there is room.
awaitable<bool> tell_more(const Api& api, Telling& telling, Cursor& cursor, const Framing& framing) {
  if (!telling.out.reserve(telling.room)) co_return false;
  const Cursor before = cursor;
  std::shared_ptr<const EventText> read = co_await read_on(api, telling.peer, cursor, framing);
  if (!telling.out.reserve(read->text.size())) {
    telling.room = read->text.size();
    read.reset();
    cursor = before;
    co_return false;
  }
  telling.room = kBatchBytes;
  telling.is_dry = !read->more;
  if (read->text.empty()) co_return false;
  co_await telling.out.write(read->text);
  telling.out.reserve(0);
  telling.quiet_until = Peer::Clock::now() + api.heartbeat;
  co_return read->more;
}

awaitable<void> stream_events(const Api& api, std::shared_ptr<Peer> peer, Cursor cursor,
                              const Framing& framing, http::BodyWriter& out) {
  std::vector<std::shared_ptr<void>> subscriptions;
  for (const JobCursor& job : cursor.jobs)
    subscriptions.push_back(api.jobs.subscribe(job.id, [bell = peer->bell()] { bell->ring(); }));
  auto look_up = [&] { read_traces(api.jobs, cursor); };
  auto look = [&] { mark_ended(api.jobs, cursor); };
  co_await out.write(framing.first);
  co_await peer->offload(look_up);
  bool may_have_ended = true;  // asked once: a job that ends later says so in an event
  Telling telling{.peer = peer, .out = out, .quiet_until = Peer::Clock::now() + api.heartbeat};
  while (!cursor.ended() && !peer->gone()) {
    const bool more = co_await tell_more(api, telling, cursor, framing);
    if (more || cursor.ended()) continue;
    if (telling.is_dry && !cursor.follows) co_return;
    if (std::exchange(may_have_ended, false)) {
      co_await peer->offload(look);
      continue;
    }
    if (peer->stopping()) {
      co_await out.write(framing.stopping);
      co_return;
    }
    co_await peer->wait_until(telling.quiet_until);
    if (Peer::Clock::now() < telling.quiet_until) continue;
    co_await out.write(framing.idle);
    telling.quiet_until = Peer::Clock::now() + api.heartbeat;
  }
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Throws kInvalidValue for what is not the cursor's text.
void resume(const Request& request, Cursor& cursor) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& [where, text] : resume_points(request)) {
    const auto numbers = split(text, '.');
    if (numbers.size() != cursor.jobs.size())
      throw schema::Error(schema::ErrorCode::kInvalidValue,
                          fmt::format("{} is '{}', must be {} numbers with dots between them, one for each job", where,
                                      text, cursor.jobs.size()),
                          std::string(where));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      cursor.jobs[i].after = parse_integer(numbers[i], 0, kMost, where);
      if (KEDGE_CONTROL("repeat-events") && cursor.jobs[i].after > 0) --cursor.jobs[i].after;
    }
  }
}

// `counted` is shared because a std::function must be copyable.
http::Response stream_of(const Api& api, const Request& request, Cursor cursor, std::string_view form, std::shared_ptr<void> counted) {
  if (!counted) counted = open_stream(api, request.caller.tenant);
  const Framing& framing = form == kSse ? kSseFraming : kNdjsonFraming;
  Response response;
  response.content_type = form;
  response.is_live = true;
  response.fields.emplace_back("X-Accel-Buffering",
                               "no");  // else nginx in front collects events before it passes them on
  response.stream = [&api, &framing, counted, peer = request.peer, cursor = std::move(cursor)](http::BodyWriter& out) mutable {
    return stream_events(api, peer, std::move(cursor), framing, out);   // called once
  };
  return response;
}

// `?follow=false`: only what is stored now.
bool follows(const Request& request) {
  const auto follow = request.query_value("follow");
  if (follow && *follow != "true" && *follow != "false")
    throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("follow is '{}', must be true or false", *follow), "follow");
  return follow != "false";
}

// The jobs of `?jobs=a,b,c`.
Cursor named_jobs(const Request& request) {
  Cursor cursor{.names_jobs = true, .follows = follows(request)};
  for (const std::string_view id : split(request.query_value("jobs").value_or(""), ','))
    if (!id.empty()) cursor.jobs.push_back({.id = std::string(id)});
  if (cursor.jobs.empty() || cursor.jobs.size() > kMaxJobs)
    throw schema::Error(schema::ErrorCode::kInvalidValue,
                        fmt::format("jobs names {} jobs, must name 1 to {}, with commas between them", cursor.jobs.size(), kMaxJobs),
                        "jobs");
  return cursor;
}

// Throws kNotFound for a job that is not there, or another tenant's.
void check_jobs(const Api& api, const Request& request, const Cursor& cursor) {
  for (const JobCursor& job : cursor.jobs) check_owner(api, request.caller, job.id);
}

}  // namespace

std::shared_ptr<void> open_stream(const Api& api, const std::string& tenant) {
  if (!api.streams) return nullptr;
  std::shared_ptr<void> counted = api.streams->open(tenant);
  if (!counted)
    throw schema::QuotaExceeded(fmt::format("{} event streams are open, no more may be", api.streams->per_tenant()),
                                {.name = "streams", .unit = "concurrent-requests", .most = api.streams->per_tenant()});
  return counted;
}

http::Response event_stream(const Api& api, const Request& request, std::string job_id, std::int64_t after, std::string_view form,
                            std::shared_ptr<void> counted) {
  return stream_of(api, request, {.jobs = {{.id = std::move(job_id), .after = after}}}, form, std::move(counted));
}

awaitable<Response> get_events(const Api& api, Request request) {
  check_query(request, {"after", "follow"});
  const std::string_view form = negotiate(request, {kSse, kNdjson});
  Cursor cursor{.jobs = {{.id = std::string(request.capture("id"))}}, .follows = follows(request)};
  resume(request, cursor);
  auto check = [&] { check_jobs(api, request, cursor); };
  co_await request.peer->offload(check);
  co_return stream_of(api, request, std::move(cursor), form, nullptr);
}

awaitable<Response> get_events_of_jobs(const Api& api, Request request) {
  check_query(request, {"jobs", "list", "after", "follow"});
  if (request.query_value("list")) co_return list_event_stream(api, request);
  const std::string_view form = negotiate(request, {kSse, kNdjson});
  Cursor cursor = named_jobs(request);
  resume(request, cursor);
  auto check = [&] { check_jobs(api, request, cursor); };
  co_await request.peer->offload(check);
  co_return stream_of(api, request, std::move(cursor), form, nullptr);
}

}  // namespace kedge::server::api
