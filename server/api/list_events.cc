// The changes of the list of jobs as a stream: see list_events.h.
#include "server/api/list_events.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "server/api/answer.h"
#include "server/api/events.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using http::Peer;
using http::Request;
using http::net::awaitable;

constexpr std::size_t kBatch = 64;                 // jobs read and sent at once
constexpr std::size_t kRoom = 256 << 10;           // what their text usually needs at most
constexpr std::chrono::milliseconds kPause{100};   // between batches, so that a burst of changes is read together

struct ListCursor {
  std::optional<std::string> tenant;   // whose jobs; unset: all
  std::optional<std::int64_t> after;   // unset: the stream begins with what happens next
  bool is_sse = true, follows = true;
};

struct ListText {
  std::string text;
  std::int64_t position = 0;
  bool more = false;
};

void append(std::string& out, bool is_sse, std::string_view name, std::int64_t position, std::string_view data) {
  if (is_sse) fmt::format_to(std::back_inserter(out), "id: {}\nevent: {}\ndata: {}\n\n", position, name, data);
  else out.append(data).append("\n");
}

// Where the stream begins. A position that this store has not reached is another store's.
ListText beginning(const JobService& jobs, const ListCursor& cursor) {
  const std::int64_t last = jobs.changes(std::numeric_limits<std::int64_t>::max(), 1, cursor.tenant).position;
  const bool is_known = cursor.after && *cursor.after <= last;
  ListText begin{.position = is_known ? *cursor.after : last};
  append(begin.text, cursor.is_sse, "list", begin.position,
         fmt::format("{{\"position\":{},\"resumed\":{}}}", begin.position, is_known));
  return begin;
}

ListText next_text(const JobService& jobs, const ListCursor& cursor, std::int64_t after) {
  const JobChanges changes = jobs.changes(after, kBatch, cursor.tenant);
  ListText next{.position = changes.position, .more = changes.more};
  for (const JobChanges::Changed& changed : changes.jobs)
    append(next.text, cursor.is_sse, "job", changed.position,
           fmt::format("{{\"position\":{},\"job\":{}}}", changed.position, schema::to_json(changed.job)));
  return next;
}

// A stream that is being written.
struct Writing {
  const Api& api;
  std::shared_ptr<Peer> peer;
  const ListCursor cursor;
  http::BodyWriter& out;
  Peer::Clock::time_point quiet_until = {};

  void sent() { quiet_until = Peer::Clock::now() + api.heartbeat; }
  bool is_over() const { return peer->gone() || peer->stopping(); }
};

// Waits until then, whatever rings.
awaitable<void> pause(Writing& writing, Peer::Clock::time_point until) {
  while (!writing.is_over() && Peer::Clock::now() < until) co_await writing.peer->wait_until(until);
}

// Waits for a ring, and says in quiet times that the stream is alive.
awaitable<void> wait(Writing& writing) {
  co_await writing.peer->wait_until(writing.quiet_until);
  if (Peer::Clock::now() < writing.quiet_until || writing.is_over()) co_return;
  co_await writing.out.write(writing.cursor.is_sse ? ":\n\n" : "\n");
  writing.sent();
}

// Sends what has changed since `position`, which moves on. True when all has been sent.
awaitable<bool> send_changes(Writing& writing, std::int64_t& position) {
  if (!writing.out.reserve(kRoom)) co_return false;
  auto read = [&] { return next_text(writing.api.jobs, writing.cursor, position); };
  ListText next = co_await writing.peer->offload(read);
  if (!writing.out.reserve(next.text.size())) co_return false;   // read again when there is room
  position = next.position;
  if (!next.text.empty()) {
    co_await writing.out.write(next.text);
    writing.sent();
  }
  writing.out.reserve(0);
  co_return !next.more;
}

awaitable<void> stream_list(Writing writing) {
  const auto subscription = writing.api.jobs.subscribe("", [bell = writing.peer->bell()] { bell->ring(); });
  auto look = [&] { return beginning(writing.api.jobs, writing.cursor); };
  const ListText begin = co_await writing.peer->offload(look);
  if (writing.cursor.is_sse) co_await writing.out.write("retry: 2000\n\n");
  co_await writing.out.write(begin.text);
  writing.sent();
  for (std::int64_t position = begin.position; !writing.is_over();) {
    const std::int64_t before = position;
    const bool is_dry = co_await send_changes(writing, position);
    if (!is_dry && position != before) continue;
    if (is_dry && !writing.cursor.follows) co_return;
    if (is_dry && position != before) co_await pause(writing, Peer::Clock::now() + kPause);
    else co_await wait(writing);
  }
  if (writing.peer->stopping() && writing.cursor.is_sse)
    co_await writing.out.write("retry: 1000\nevent: shutdown\ndata: {}\n\n");
}

bool is_true(const Request& request, std::string_view name, bool otherwise) {
  const auto value = request.query_value(name);
  if (!value) return otherwise;
  if (*value == "1" || *value == "true") return true;
  if (*value == "false") return false;
  throw schema::Error(schema::ErrorCode::kInvalidValue, fmt::format("{} is '{}', must be true or false", name, *value),
                      std::string(name));
}

ListCursor cursor_of(const Request& request) {
  ListCursor cursor{.follows = is_true(request, "follow", true)};
  if (!request.caller.admin) cursor.tenant = request.caller.tenant;
  for (const auto& [where, text] : resume_points(request))
    cursor.after = parse_integer(text, 0, std::numeric_limits<std::int64_t>::max(), where);
  return cursor;
}

}   // namespace

http::Response list_event_stream(const Api& api, const Request& request) {
  if (request.query_value("jobs") || !is_true(request, "list", false))
    throw schema::Error(schema::ErrorCode::kInvalidValue,
                        "a stream is of the list (list=1) or of jobs (jobs=...), not of both", "list");
  const std::string_view form = negotiate(request, {kSse, kNdjson});
  ListCursor cursor = cursor_of(request);
  cursor.is_sse = form == kSse;
  http::Response response;
  response.content_type = form;
  response.is_live = true;
  response.fields.emplace_back("X-Accel-Buffering",
                               "no");   // else nginx in front collects events before it passes them on
  response.stream = [&api, counted = open_stream(api, request.caller.tenant), peer = request.peer,
                     cursor = std::move(cursor)](http::BodyWriter& out) mutable {
    Writing writing{.api = api, .peer = peer, .cursor = std::move(cursor), .out = out};
    return stream_list(std::move(writing));   // called once
  };
  return response;
}

}   // namespace kedge::server::api
