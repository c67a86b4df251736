// Accepting connections, ending the late ones, stopping in good order.
#include "server/http/server.h"

#include <fmt/format.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <random>

#include "engine/faults/fail_point.h"
#include "server/http/session.h"

namespace kedge::server::http {
namespace {

using net::ip::tcp;
using schema::Error;
using schema::ErrorCode;

constexpr int kUnacknowledgedMs = 20'000;
constexpr std::chrono::seconds kCheckCallers{1};  // how long a revoked token may go on at most

// Often enough that no deadline is missed by more than a quarter.
std::chrono::milliseconds sweep_interval(const Deadlines& d) {
  const auto shortest = std::min({d.header, d.idle, d.body_grace, d.write_stall, d.linger, d.drain});
  return std::clamp(shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(250));
}

}  // namespace

struct Server::Impl {
  Impl(ServerOptions options, Router router);
  ~Impl();
  void listen();
  void begin_stop();
  bool admits(const net::ip::address& address) const;
  net::awaitable<void> accept_loop();
  net::awaitable<void> sweep_loop();
  net::awaitable<void> signal_loop();
  net::awaitable<void> hangup_loop();
  void reload_certificates();

  // Sessions live in coroutines that `loop` owns, and use what is declared before it.
  const ServerOptions options;
  const Router router;
  net::thread_pool pool;
  Shared shared;
  net::io_context loop{1};
  tcp::acceptor acceptor{loop};
  net::steady_timer sweep_timer{loop};
  net::signal_set signals{loop}, hangup{loop};
  std::chrono::steady_clock::time_point check_callers_at;
  bool forced = false;  // by a second signal
  std::chrono::steady_clock::time_point drain_until = std::chrono::steady_clock::time_point::max();
};

Server::Impl::Impl(ServerOptions given, Router given_router)
    : options(std::move(given)),
      router(std::move(given_router)),
      pool(static_cast<std::size_t>(std::max(1, options.blocking_threads))),
      shared{router, options.limits, options.deadlines, options.report, pool, options.hosts} {
  shared.id_prefix = fmt::format("{:08x}", std::random_device{}());
  shared.gatekeeper = options.gatekeeper;
  shared.observe = options.observe;
  shared.stream_dropped = options.stream_dropped;
  if (!options.tls.certificate.empty()) shared.tls = std::make_shared<const TlsContext>(options.tls);
  listen();
}

Server::Impl::~Impl() {
  pool.join();  // what is still being worked on posts to the loop
  shared.on_last_session = nullptr;
}

void Server::Impl::listen() {
  boost::system::error_code error;
  const auto address = net::ip::make_address(options.host, error);
  if (error)
    throw Error(ErrorCode::kInvalidValue, fmt::format("listen: '{}' is not an IP address", options.host),
                "listen");
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  // Inherited by connections: who acknowledges nothing of what was sent is gone. A stream sends a comment every 15 s.
  if (!KEDGE_CONTROL("keep-dead-peers"))
    ::setsockopt(acceptor.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs, sizeof kUnacknowledgedMs);
  acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error)
    throw Error(ErrorCode::kUnavailable,
                fmt::format("listen: cannot use {}:{}: {}", options.host, options.port, error.message()),
                "listen");
}

bool Server::Impl::admits(const net::ip::address& address) const {
  if (shared.sessions.size() >= options.limits.connections) return false;
  if (address.is_loopback() || shared.sessions.size() < options.limits.connections_per_address) return true;
  const auto same = std::count_if(shared.sessions.begin(), shared.sessions.end(),
                                  [&](const Session* s) { return s->peer_address() == address; });
  return static_cast<std::size_t>(same) < options.limits.connections_per_address;
}

net::awaitable<void> Server::Impl::accept_loop() {
  while (!shared.stopping) {
    auto [error, socket] = co_await acceptor.async_accept(net::as_tuple(net::use_awaitable));
    if (shared.stopping) co_return;
    if (error) {  // out of descriptors, most likely: let some connections end
      net::steady_timer pause(loop, std::chrono::milliseconds(100));
      co_await pause.async_wait(net::as_tuple(net::use_awaitable));
      continue;
    }
    Stream stream(std::move(socket));
    if (!admits(stream.peer_address())) continue;
    auto session = std::make_shared<Session>(std::move(stream), shared);
    net::co_spawn(loop, Session::run(std::move(session)), net::detached);
  }
}

// One timer for all deadlines, which so cost nothing per request.
net::awaitable<void> Server::Impl::sweep_loop() {
  while (true) {
    sweep_timer.expires_after(sweep_interval(options.deadlines));
    co_await sweep_timer.async_wait(net::as_tuple(net::use_awaitable));
    const auto now = std::chrono::steady_clock::now();
    for (Session* session : shared.sessions) session->close_if_late(now);
    if (options.gatekeeper && now >= check_callers_at) {
      for (Session* session : shared.sessions) session->close_if_revoked();
      check_callers_at = now + kCheckCallers;
    }
    if (now >= drain_until) loop.stop();
  }
}

net::awaitable<void> Server::Impl::signal_loop() {
  for (int count = 0; count < 2; ++count) {
    co_await signals.async_wait(net::as_tuple(net::use_awaitable));
    if (count == 0) begin_stop();
  }
  forced = true;
  loop.stop();
}

net::awaitable<void> Server::Impl::hangup_loop() {
  while (true) {
    co_await hangup.async_wait(net::use_awaitable);
    reload_certificates();
    if (options.reload) options.reload();
  }
}

void Server::Impl::reload_certificates() {
  if (!shared.tls) return;
  try {
    shared.tls = std::make_shared<const TlsContext>(options.tls);
  } catch (const Error& e) {
    options.report(fmt::format("the certificate stays as it was: {}", e.message));
  }
}

void Server::Impl::begin_stop() {
  if (shared.stopping) return;
  shared.stopping = true;
  options.stopping();
  drain_until = std::chrono::steady_clock::now() + options.deadlines.drain;
  boost::system::error_code ignored;
  acceptor.close(ignored);
  for (Session* session : shared.sessions) session->stop();
  shared.on_last_session = [this] { loop.stop(); };
  if (shared.sessions.empty()) loop.stop();
}

Server::Server(ServerOptions options, Router router)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(router))) {}
Server::~Server() = default;

std::uint16_t Server::port() const {
  return impl_->acceptor.local_endpoint().port();
}

bool Server::run(bool handle_signals) {
  if (handle_signals) {
    impl_->signals.add(SIGTERM);
    impl_->signals.add(SIGINT);
    impl_->hangup.add(SIGHUP);
    net::co_spawn(impl_->loop, impl_->signal_loop(), net::detached);
    net::co_spawn(impl_->loop, impl_->hangup_loop(), net::detached);
  }
  net::co_spawn(impl_->loop, impl_->accept_loop(), net::detached);
  net::co_spawn(impl_->loop, impl_->sweep_loop(), net::detached);
  impl_->loop.run();
  return !impl_->forced;
}

void Server::stop() {
  net::post(impl_->loop, [impl = impl_.get()] { impl->begin_stop(); });
}

void Server::reload_certificates() {
  net::post(impl_->loop, [impl = impl_.get()] { impl->reload_certificates(); });
}

std::string Server::fingerprint() const {
  return impl_->shared.tls ? impl_->shared.tls->fingerprint() : std::string();
}

Connections Server::connections() const {
  Connections counted;
  for (const Session* session : impl_->shared.sessions) ++(session->is_idle() ? counted.idle : counted.active);
  return counted;
}

}  // namespace kedge::server::http
