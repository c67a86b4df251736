// Accepting connections, ending the late ones, stopping in good order.
#include "server/http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

#include "server/http/session.h"

namespace kedge::server::http {
namespace {

using net::ip::tcp;
using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::seconds kCheckCallers{1};  // how long a revoked token may go on at most
constexpr std::chrono::seconds kLookForGone{4};

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
  void run();
  // What is done again and again until a step returns false.
  struct Duty {
    net::awaitable<bool> (Impl::*step)();
    bool on_its_way = false, done = false;
  };
  net::awaitable<void> repeat(Duty& duty);
  net::awaitable<bool> accept_next();
  net::awaitable<bool> sweep();
  net::awaitable<bool> take_signal();
  net::awaitable<bool> take_hangup();
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
  std::chrono::steady_clock::time_point check_callers_at, look_for_gone_at;
  std::array<Duty, 4> duties{Duty{&Impl::accept_next}, Duty{&Impl::sweep}, Duty{&Impl::take_signal}, Duty{&Impl::take_hangup}};
  void end() {
    has_ended = true;
    loop.stop();
  }
  bool has_ended = false;
  int stop_signals = 0;
  bool forced = false;  // by a second signal
  std::chrono::steady_clock::time_point drain_until = std::chrono::steady_clock::time_point::max();
};

Server::Impl::Impl(ServerOptions given, Router given_router)
    : options(std::move(given)),
      router(std::move(given_router)),
      pool(static_cast<std::size_t>(std::max(1, options.blocking_threads))),
      shared{router, options.limits, options.deadlines, options.report, pool, options.hosts, options.sites} {
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

// What a step throws is reported, and the next one follows.
net::awaitable<void> Server::Impl::repeat(Duty& duty) {
  struct OnItsWay {
    OnItsWay(Impl& server, Duty& duty) : server(server), duty(duty) { duty.on_its_way = true; }
    ~OnItsWay() {
      duty.on_its_way = false;
      if (!duty.done && !server.has_ended) server.loop.stop();   // run() begins it anew
    }
    Impl& server;
    Duty& duty;
  } const mark(*this, duty);
  while (!duty.done) {
    try {
      const bool goes_on = co_await (this->*duty.step)();
      duty.done = !goes_on;
    } catch (const std::exception& e) {   // memory, most likely
      shared.tell("continues after", e);
    }
  }
}

net::awaitable<bool> Server::Impl::accept_next() {
  if (shared.stopping) co_return false;
  auto [error, socket] = co_await acceptor.async_accept(net::as_tuple(net::use_awaitable));
  if (shared.stopping) co_return false;
  if (error) {  // out of descriptors, most likely: let some connections end
    net::steady_timer pause(loop, std::chrono::milliseconds(100));
    co_await pause.async_wait(net::as_tuple(net::use_awaitable));
    co_return true;
  }
  Stream stream(std::move(socket));
  if (!admits(stream.peer_address())) co_return true;
  auto session = std::make_shared<Session>(std::move(stream), shared);
  net::co_spawn(loop, Session::run(std::move(session)), net::detached);
  co_return true;
}

// One timer for all deadlines, which so cost nothing per request.
net::awaitable<bool> Server::Impl::sweep() {
  sweep_timer.expires_after(sweep_interval(options.deadlines));
  co_await sweep_timer.async_wait(net::as_tuple(net::use_awaitable));
  const auto now = std::chrono::steady_clock::now();
  if (now >= drain_until) end();
  for (Session* session : shared.sessions) session->close_if_late(now);
  if (options.gatekeeper && now >= check_callers_at) {
    for (Session* session : shared.sessions) session->close_if_revoked();
    check_callers_at = now + kCheckCallers;
  }
  if (now >= look_for_gone_at) {
    for (Session* session : shared.sessions) session->close_if_gone(now);
    look_for_gone_at = now + kLookForGone;
  }
  co_return true;
}

net::awaitable<bool> Server::Impl::take_signal() {
  co_await signals.async_wait(net::as_tuple(net::use_awaitable));
  if (++stop_signals == 1) {
    begin_stop();
    co_return true;
  }
  forced = true;
  end();
  co_return false;
}

net::awaitable<bool> Server::Impl::take_hangup() {
  co_await hangup.async_wait(net::use_awaitable);
  reload_certificates();
  if (options.reload) options.reload();
  co_return true;
}

// An exception that gets here has none of our code in between: memory ran out where Asio goes from one operation to the
// next, and the coroutine that it belonged to is destroyed. This closes a session; a duty begins anew.
void Server::Impl::run() {
  while (!has_ended) {
    try {
      loop.restart();
      for (Duty& duty : duties)
        if (!duty.on_its_way && !duty.done) net::co_spawn(loop, repeat(duty), net::detached);
      loop.run();
    } catch (const std::exception& e) {
      shared.tell("continues after", e);
    }
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
  shared.on_last_session = [this] { end(); };
  if (shared.sessions.empty()) end();
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
  }
  impl_->run();
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
