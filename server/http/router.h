// Finds the handler of a request: method and path template with {captures}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace kedge::server::http {

// How a body comes to the handler: in Request::body, or in pieces that it reads itself, up to Limits::upload_bytes.
enum class BodyForm {
  kWhole,
  kPieces,
  kPiecesOfMultipart
};   // the last: multipart/form-data in pieces, any other body whole

struct Route {
  std::string_view method;
  std::string_view path;  // "/v1/jobs/{id}/events"; a capture takes one non-empty segment
  Handler handler;
  Access access = Access::kPublic;
  BodyForm body = BodyForm::kWhole;
};

// What was found. Without a handler, `allow` lists the methods of the path ("GET, HEAD, OPTIONS"), and is
// empty when no route has the path at all.
struct Match {
  const Route* route = nullptr;
  Fields captures;
  std::string allow;
};

// Immutable once made. HEAD takes the route of GET.
class Router {
 public:
  explicit Router(std::vector<Route> routes);
  // Throws schema::Error kMalformed for a bad escape in a captured segment.
  Match find(std::string_view method, std::string_view path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace kedge::server::http
