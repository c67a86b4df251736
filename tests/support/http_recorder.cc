// A server that writes down every request that it takes for one: "METHOD TARGET STATUS BODY-BYTES" on a line of its
// stdout, the port on the first. For tests that put it behind other servers, or compare it with other parsers. Refused
// requests have no line.
#include <cstdio>
#include <string>

#include "server/http/server.h"

namespace {

using namespace kedge::server::http;

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

net::awaitable<Response> take(Request request) {
  say(request.method + " " + request.target + " 200 " + std::to_string(request.body.size()));
  Response response;
  response.body = std::to_string(request.body.size());
  co_return response;
}

std::vector<Route> routes() {
  std::vector<Route> all;
  for (const char* method : {"GET", "POST", "PUT", "DELETE"})
    for (const char* path : {"/", "/{a}", "/{a}/{b}", "/{a}/{b}/{c}"}) all.push_back({method, path, take});
  return all;
}

}   // namespace

int main() {
  ServerOptions options;
  options.limits.body_bytes = options.limits.upload_bytes = 1 << 20;
  Server server(std::move(options), Router(routes()));
  say(std::to_string(server.port()));
  return server.run(true) ? 0 : 1;
}
