// Reading from and writing to a connection.
#include "server/http/stream.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kedge::server::http {

Stream::Stream(net::ip::tcp::socket socket) : socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);  // else Nagle holds small events back
  const auto endpoint = socket_.remote_endpoint(ignored);
  peer_address_ = endpoint.address();
}

net::awaitable<std::size_t> Stream::read_some(net::mutable_buffer buffer) {
  const auto [error, n] = co_await socket_.async_read_some(buffer, net::as_tuple(net::use_awaitable));
  if (error == net::error::eof) co_return 0;
  if (error) throw boost::system::system_error(error);
  co_return n;
}

net::awaitable<std::size_t> Stream::write_some(WriteBuffers buffers) {
  co_return co_await socket_.async_write_some(buffers, net::use_awaitable);
}

net::awaitable<bool> Stream::wait_for_end() {
  const auto [error] =
      co_await socket_.async_wait(net::socket_base::wait_read, net::as_tuple(net::use_awaitable));
  if (error || !socket_.is_open()) co_return false;
  char byte;
  const auto n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  co_return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void Stream::cancel() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void Stream::shutdown_send() {
  boost::system::error_code ignored;
  socket_.shutdown(net::socket_base::shutdown_send, ignored);
}

void Stream::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace kedge::server::http
