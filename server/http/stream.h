// The bytes of one connection. TLS will be a second member behind the same calls, so that nothing above is
// compiled twice.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>

#include "server/http/net.h"

namespace kedge::server::http {

using WriteBuffers = std::array<net::const_buffer, 2>;

class Stream {
 public:
  explicit Stream(net::ip::tcp::socket socket);

  // Both throw boost::system::system_error; read_some() returns 0 at the end of the stream.
  net::awaitable<std::size_t> read_some(net::mutable_buffer buffer);
  net::awaitable<std::size_t> write_some(WriteBuffers buffers);

  // Returns true if the client closed its side, false if it sent something, was closed here, or cannot be
  // told.
  net::awaitable<bool> wait_for_end();
  void cancel();  // ends what is in progress
  void shutdown_send();
  void close();
  net::ip::address peer_address() const { return peer_address_; }

 private:
  net::ip::tcp::socket socket_;
  net::ip::address peer_address_;
};

}  // namespace kedge::server::http
