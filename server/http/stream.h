// The bytes of one connection, plain or TLS: which of them is known at run time, so that nothing above is compiled twice.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "server/http/net.h"
#include "server/http/tls.h"

namespace kedge::server::http {

using WriteBuffers = std::array<net::const_buffer, 3>;

// OpenSSL works on the socket itself, which is non-blocking; Asio only waits. So a TLS connection costs OpenSSL's state and no
// buffers of Asio's.
class Stream {
 public:
  explicit Stream(net::ip::tcp::socket socket);
  Stream(Stream&&) noexcept;
  ~Stream();

  enum class Greeting { kTls, kPlain, kGone };
  // Shakes hands, once, before anything else. kPlain: the client speaks HTTP instead; what it says can be read. Throws
  // boost::system::system_error when the handshake fails.
  net::awaitable<Greeting> greet(const TlsContext& context);

  // Both throw boost::system::system_error; read_some() returns 0 at the end of the stream.
  net::awaitable<std::size_t> read_some(net::mutable_buffer buffer);
  net::awaitable<std::size_t> write_some(WriteBuffers buffers);

  // Calls once when the client closes its side; not if it sends something, is closed here, or `wanted` has expired, which ends the
  // wait with the next byte. `ended` must keep this alive.
  void call_at_end(std::weak_ptr<const void> wanted, std::function<void()> ended);
  // Until both sides are closed or the connection is broken, even if bytes wait to be read. Throws when it is closed
  // here.
  net::awaitable<void> wait_for_hangup();
  // How long the client has acknowledged nothing while it owes that: for what was sent to it, or for the question whether it has room
  // now. Zero where it owes nothing, as a client without room that says so.
  std::chrono::milliseconds silence();
  void cancel();  // ends what is in progress
  void shutdown_send();
  void close();   // what was sent still arrives
  void reset();   // nothing is kept for the client any more
  net::ip::address peer_address() const { return peer_address_; }
  bool is_tls() const { return ssl_ != nullptr; }
  std::string peer_name() const;  // of the client's certificate; empty without one

 private:
  struct SslDeleter {
    void operator()(ssl_st* ssl) const;
  };
  net::awaitable<void> wait_for(int ssl_error);   // until the socket is as OpenSSL needs it
  enum class Look { kData, kNothing, kEnd };   // what waits to be read
  Look look();
  Look tls_look();

  net::ip::tcp::socket socket_;
  net::ip::address peer_address_;
  std::unique_ptr<ssl_st, SslDeleter> ssl_;  // null: plain
};

}  // namespace kedge::server::http
