// /v1/jobs/{id}/events: server-sent events or lines of JSON.
#include "server/api/events.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "server/api/answer.h"
#include "server/api/handlers.h"
#include "server/api/ownership.h"

namespace kedge::server::api {
namespace {

using http::Peer;
using schema::Event;

constexpr std::size_t kBatch = 256;  // events read at once; bounds what a stream holds in memory

// What goes on the wire for an event, for an idle while, at the beginning and at the server's stop.
struct Framing {
  std::string_view first, idle, stopping;
  void (*append)(std::string& out, const Event& event);
};

void append_sse(std::string& out, const Event& event) {
  fmt::format_to(std::back_inserter(out), "id: {}\nevent: {}\ndata: {}\n\n", event.id,
                 schema::event_name(event.body), schema::to_json(event));
}

void append_line(std::string& out, const Event& event) {
  out.append(schema::to_json(event)).append("\n");
}

constexpr Framing kSseFraming{"retry: 2000\n\n", ":\n\n", ": the server is stopping\n\n", append_sse};
constexpr Framing kNdjsonFraming{"", "\n", "", append_line};

bool is_last(const Event& event) {
  const auto* state = std::get_if<schema::StateEvent>(&event.body);
  return state && is_final(state->state);
}

struct Cursor {
  std::string job_id;
  std::int64_t after = 0;
  bool ended = false;
};

// Reads on from the cursor and returns the text for it.
std::string next_text(const JobService& jobs, const Framing& framing, Cursor& cursor) {
  std::string text;
  for (const Event& event : jobs.events(cursor.job_id, cursor.after, kBatch)) {
    framing.append(text, event);
    cursor.after = event.id;
    cursor.ended = cursor.ended || is_last(event);
  }
  return text;
}

// True when nothing can follow: the client asked for what comes after the last event.
bool has_ended(const JobService& jobs, const Cursor& cursor) {
  const auto job = jobs.find(cursor.job_id);
  return !job || (is_final(job->state) && jobs.events(cursor.job_id, cursor.after, 1).empty());
}

awaitable<void> stream_events(const Api& api, std::shared_ptr<Peer> peer, Cursor cursor,
                              const Framing& framing, http::BodyWriter& out) {
  const auto subscription = api.jobs.subscribe(cursor.job_id, [bell = peer->bell()] { bell->ring(); });
  auto read = [&] { return next_text(api.jobs, framing, cursor); };
  auto ended = [&] { return has_ended(api.jobs, cursor); };
  co_await out.write(framing.first);
  bool may_have_ended = true;  // asked once: a job that ends later says so in an event
  auto quiet_until = Peer::Clock::now() + api.heartbeat;
  while (!cursor.ended && !peer->gone()) {
    const std::string text = co_await peer->offload(read);
    if (!text.empty()) {
      co_await out.write(text);
      quiet_until = Peer::Clock::now() + api.heartbeat;
      continue;
    }
    if (may_have_ended && co_await peer->offload(ended)) co_return;
    may_have_ended = false;
    if (peer->stopping()) {
      co_await out.write(framing.stopping);
      co_return;
    }
    co_await peer->wait_until(quiet_until);
    if (Peer::Clock::now() < quiet_until) continue;
    co_await out.write(framing.idle);
    quiet_until = Peer::Clock::now() + api.heartbeat;
  }
}

std::int64_t resume_point(const Request& request) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (const auto after = request.query_value("after")) return parse_integer(*after, 0, kMost, "after");
  const std::string_view last = request.field("Last-Event-ID");
  return last.empty() ? 0 : parse_integer(last, 0, kMost, "Last-Event-ID");
}

}  // namespace

http::Response event_stream(const Api& api, const Request& request, std::string job_id, std::int64_t after,
                            std::string_view form) {
  std::shared_ptr<void> counted;   // shared because a std::function must be copyable
  if (api.streams && !(counted = api.streams->open(request.caller.tenant)))
    throw schema::Error(schema::ErrorCode::kTooManyRequests,
                        fmt::format("{} event streams are open, no more may be", api.streams->per_tenant()));
  const Framing& framing = form == kSse ? kSseFraming : kNdjsonFraming;
  Response response;
  response.content_type = form;
  response.fields.emplace_back("X-Accel-Buffering",
                               "no");  // else nginx in front collects events before it passes them on
  response.stream = [&api, &framing, counted, peer = request.peer, cursor = Cursor{std::move(job_id), after}](http::BodyWriter& out) {
    return stream_events(api, peer, cursor, framing, out);
  };
  return response;
}

awaitable<Response> get_events(const Api& api, Request request) {
  check_query(request, {"after"});
  const std::string_view form = negotiate(request, {kSse, kNdjson});
  const std::int64_t after = resume_point(request);
  const std::string id(request.capture("id"));
  auto work = [&] { check_owner(api, request.caller, id); };
  co_await request.peer->offload(work);
  co_return event_stream(api, request, id, after, form);
}

}  // namespace kedge::server::api
