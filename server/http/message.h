// Requests and answers as plain values, and what a handler is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/quota.h"
#include "server/http/net.h"

namespace kedge::server::http {

class Peer;

using Fields = std::vector<std::pair<std::string, std::string>>;

// True if both are the same except for ASCII case.
bool same_name(std::string_view a, std::string_view b);

// What a call needs of its caller.
enum class Access { kPublic, kRead, kSubmit, kAdmin };

// The caller of a request. A value; without authentication every caller is tenant "" and may do everything.
struct Caller {
  std::string tenant;
  std::string token;  // id of the token; empty: none was needed, or a certificate spoke
  bool read = true, submit = true, admin = true;
  std::optional<schema::Quota> rate = {};   // what is left of the requests that may come; unset: no bound

  bool may(Access access) const {
    return access == Access::kPublic || admin || (access == Access::kRead && read) ||
           (access == Access::kSubmit && submit);
  }
};

// The body of a request whose route takes it in pieces.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  // Puts what comes next where the caller wants it, as much as is there; returns how many bytes, 0 at the end. Throws
  // when the client has disconnected or sends too much or too slowly.
  virtual net::awaitable<std::size_t> read_into(std::span<char> space) = 0;
};

// A request that passed the gate. `captures` are the {names} of the route; `query` is decoded and keeps its
// order.
struct Request {
  std::string method;
  std::string target;
  std::string path;
  Fields query;
  Fields fields;
  Fields captures;
  std::string body;
  BodyReader* body_reader = nullptr;  // instead of `body`, on routes that stream; lives as long as the call
  std::string id;              // X-Request-Id, the client's or a new one
  std::string trace;           // traceparent (W3C), the client's or a new one
  Caller caller;
  std::shared_ptr<Peer> peer;   // shared with the session, which reports to it that the client has disconnected

  // The 32 hex digits of `trace` that all parts of one user's action share.
  std::string_view trace_id() const { return std::string_view(trace).substr(std::min<std::size_t>(trace.size(), 3), 32); }
  std::string_view field(std::string_view name) const;                       // empty if absent
  std::optional<std::string_view> query_value(std::string_view name) const;  // the first one
  std::string_view capture(std::string_view name) const;
};

// Takes pieces of a body whose length is not known. write() returns when the socket took all of it, so
// nothing piles up for a slow client; it throws when the client has disconnected.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  virtual net::awaitable<void> write(std::string_view piece) = 0;
  // Before so many bytes are made for the client: true if the server may hold them, in place of what was reserved before. If not,
  // nothing is reserved, and the peer's bell rings when there may be room. 0 gives back.
  virtual bool reserve(std::uint64_t bytes) = 0;
};

inline constexpr std::size_t kPieceBytes = 128 << 10;   // of a file: what an answer holds of it at a time

struct Response {
  int status = 200;
  std::string content_type;
  Fields fields;
  std::string body;
  std::function<net::awaitable<void>(BodyWriter&)>
      stream;  // when set, it writes the body, and `body` is not used
  std::optional<std::uint64_t> stream_bytes;  // how many the stream writes, if that is known
  bool is_live = false;   // it sends events while they happen and reserves what it holds; another holds kPieceBytes
};

using Handler = std::function<net::awaitable<Response>(Request)>;

}  // namespace kedge::server::http
