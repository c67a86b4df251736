// The HTTP server: listens, runs sessions on one thread, offers a few threads for work that may block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/gatekeeper.h"
#include "server/http/host_rules.h"
#include "server/http/limits.h"
#include "server/http/observer.h"
#include "server/http/router.h"
#include "server/http/site_rules.h"
#include "server/http/tls.h"

namespace kedge::server::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  std::uint16_t port = 0;          // 0: a free one
  int blocking_threads = 4;
  Limits limits;
  Deadlines deadlines;
  HostRules hosts;                      // by default every Host is answered
  SiteRules sites;                      // by default only the server's own pages may call from a browser
  TlsOptions tls;                       // no certificate: plain HTTP
  Gatekeeper* gatekeeper = nullptr;     // outlives the server; null: every caller may do everything
  Observer observe;
  // Called for each event stream that the server cuts, on the loop's thread: "slow_reader", "revoked" or "shutdown".
  std::function<void(std::string_view reason)> stream_dropped = [](std::string_view) {};
  std::function<void()> reload;            // at SIGHUP, in addition to the new certificate
  std::function<void()> stopping = [] {};  // at the first signal, or stop()
  std::function<void(std::string_view)> report = [](std::string_view) {
  };  // for what only the operator may see
};

// Open connections: with a request in progress, and between requests.
struct Connections {
  std::size_t active = 0, idle = 0;
};

class Server {
 public:
  // Listens from here on. Errors: kUnavailable when the address cannot be bound, kInvalidValue when it is
  // none.
  Server(ServerOptions options, Router router);
  ~Server();

  std::uint16_t port() const;
  // Serves until stop(), or until SIGTERM or SIGINT when `handle_signals`, which also reloads at SIGHUP. Requests in progress get
  // deadlines.drain to come to an end; a second signal ends it at once.
  // Returns false when a second signal ended it.
  bool run(bool handle_signals = false);
  void stop();  // from any thread
  // Reads certificate and key again, for the connections to come; what cannot be used is reported, and the old ones stay. From
  // any thread.
  void reload_certificates();
  std::string fingerprint() const;  // of the first certificate; empty without TLS
  Connections connections() const;  // on the loop's thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server::http
