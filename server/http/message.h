// Requests and answers as plain values, and what a handler is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/net.h"

namespace kedge::server::http {

class Peer;

using Fields = std::vector<std::pair<std::string, std::string>>;

// True if both are the same but for ASCII case.
bool same_name(std::string_view a, std::string_view b);

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
  std::string id;              // X-Request-Id, the client's or a new one
  std::shared_ptr<Peer> peer;  // shared with the session, which tells it that the client has gone

  std::string_view field(std::string_view name) const;                       // empty if absent
  std::optional<std::string_view> query_value(std::string_view name) const;  // the first one
  std::string_view capture(std::string_view name) const;
};

// Takes pieces of a body whose length is not known. write() returns when the socket took all of it, so
// nothing piles up for a slow client; it throws when the client has gone.
class BodyWriter {
 public:
  virtual ~BodyWriter() = default;
  virtual net::awaitable<void> write(std::string_view piece) = 0;
};

struct Response {
  int status = 200;
  std::string content_type;
  Fields fields;
  std::string body;
  std::function<net::awaitable<void>(BodyWriter&)>
      stream;  // when set, it writes the body, and `body` is not used
};

using Handler = std::function<net::awaitable<Response>(Request)>;

}  // namespace kedge::server::http
