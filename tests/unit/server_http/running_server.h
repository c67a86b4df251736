// A server on a free port for the length of a test.
#pragma once

#include <thread>
#include <utility>

#include "server/http/server.h"

namespace kedge::tests {

class RunningServer {
 public:
  RunningServer(server::http::ServerOptions options, std::vector<server::http::Route> routes)
      : server_(std::move(options), server::http::Router(std::move(routes))),
        thread_([this] { server_.run(); }) {}
  ~RunningServer() { stop(); }

  std::uint16_t port() const { return port_; }
  // Returns when every session has ended, or the drain is over.
  void stop() {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  server::http::Server server_;
  std::uint16_t port_ = server_.port();
  std::thread thread_;
};

}  // namespace kedge::tests
