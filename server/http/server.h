// The HTTP server: listens, runs sessions on one thread, offers a few threads for work that may block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/limits.h"
#include "server/http/router.h"

namespace kedge::server::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  std::uint16_t port = 0;          // 0: a free one
  int blocking_threads = 4;
  Limits limits;
  Deadlines deadlines;
  std::function<void()> stopping = [] {};  // at the first signal, or stop()
  std::function<void(std::string_view)> report = [](std::string_view) {
  };  // for what only the operator may see
};

class Server {
 public:
  // Listens from here on. Errors: kUnavailable when the address cannot be bound, kInvalidValue when it is
  // none.
  Server(ServerOptions options, Router router);
  ~Server();

  std::uint16_t port() const;
  // Serves until stop(), or until SIGTERM or SIGINT when `handle_signals`. Requests in progress get
  // deadlines.drain to come to an end; a second signal ends it at once.
  // Returns false when a second signal ended it.
  bool run(bool handle_signals = false);
  void stop();  // from any thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server::http
