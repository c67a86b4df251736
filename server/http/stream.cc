// Reading from and writing to a connection.
#include "server/http/stream.h"

#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace kedge::server::http {
namespace {

constexpr std::size_t kRecord = 16 * 1024;   // of TLS
constexpr unsigned char kHandshake = 0x16;   // first byte of a client's hello

// Bytes that OpenSSL takes at once: head and body of a short answer share a record.
std::size_t gather(const WriteBuffers& buffers, char* into) {
  std::size_t size = 0;
  for (const auto& buffer : buffers) {
    const std::size_t n = std::min(buffer.size(), kRecord - size);
    std::copy_n(static_cast<const char*>(buffer.data()), n, into + size);
    size += n;
  }
  return size;
}

}   // namespace

void Stream::SslDeleter::operator()(ssl_st* ssl) const {
  SSL_free(ssl);
}

Stream::Stream(net::ip::tcp::socket socket) : socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);   // else Nagle holds small events back
  const auto endpoint = socket_.remote_endpoint(ignored);
  peer_address_ = endpoint.address();
}
Stream::Stream(Stream&&) noexcept = default;
Stream::~Stream() = default;

net::awaitable<Stream::Greeting> Stream::greet(const TlsContext& context) {
  co_await socket_.async_wait(net::socket_base::wait_read, net::use_awaitable);
  unsigned char first = 0;
  const auto seen = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (seen == 0) co_return Greeting::kGone;
  if (seen == 1 && first >= 'A' && first <= 'Z' && first != kHandshake) co_return Greeting::kPlain;
  socket_.native_non_blocking(true);
  ssl_.reset(SSL_new(context.get()));
  SSL_set_fd(ssl_.get(), socket_.native_handle());
  while (true) {
    ERR_clear_error();
    const int done = SSL_accept(ssl_.get());
    if (done == 1) co_return Greeting::kTls;
    const int error = SSL_get_error(ssl_.get(), done);
    co_await wait_for(error);
  }
}

net::awaitable<void> Stream::wait_for(int ssl_error) {
  if (ssl_error != SSL_ERROR_WANT_READ && ssl_error != SSL_ERROR_WANT_WRITE) {
    ERR_clear_error();
    throw boost::system::system_error(net::error::connection_reset);
  }
  if (!socket_.is_open()) throw boost::system::system_error(net::error::operation_aborted);
  const auto direction = ssl_error == SSL_ERROR_WANT_READ ? net::socket_base::wait_read : net::socket_base::wait_write;
  co_await socket_.async_wait(direction, net::use_awaitable);
}

net::awaitable<std::size_t> Stream::read_some(net::mutable_buffer buffer) {
  if (!ssl_) {
    const auto [error, n] = co_await socket_.async_read_some(buffer, net::as_tuple(net::use_awaitable));
    if (error == net::error::eof) co_return 0;
    if (error) throw boost::system::system_error(error);
    co_return n;
  }
  for (bool has_waited = false;; has_waited = true) {
    ERR_clear_error();
    std::size_t n = 0;
    const int done = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &n);
    // A client that always has more to send must not keep the others waiting; Asio's own reads do the same.
    if (done == 1 && !has_waited) co_await net::post(socket_.get_executor(), net::use_awaitable);
    if (done == 1) co_return n;
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_ZERO_RETURN) co_return 0;
    co_await wait_for(error);
  }
}

net::awaitable<std::size_t> Stream::write_some(WriteBuffers buffers) {
  if (!ssl_) co_return co_await socket_.async_write_some(buffers, net::use_awaitable);
  const auto pending = std::find_if(buffers.begin(), buffers.end(), [](const auto& b) { return b.size() > 0; });
  if (pending == buffers.end()) co_return 0;
  std::unique_ptr<char[]> record;
  const void* data = pending->data();
  std::size_t size = pending->size();
  if (size < kRecord && size < net::buffer_size(buffers)) {
    record = std::make_unique_for_overwrite<char[]>(std::min(kRecord, net::buffer_size(buffers)));
    size = gather(buffers, record.get());
    data = record.get();
  }
  while (true) {
    ERR_clear_error();
    std::size_t n = 0;
    const int done = SSL_write_ex(ssl_.get(), data, size, &n);
    if (done == 1) co_return n;
    const int error = SSL_get_error(ssl_.get(), done);
    co_await wait_for(error);
  }
}

// Not TCP_USER_TIMEOUT: that ends a client, too, which is there and says that it has no room.
std::chrono::milliseconds Stream::silence() {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return std::chrono::milliseconds(info.tcpi_unacked || info.tcpi_probes ? std::max(info.tcpi_last_ack_recv, 1u) : 0);
}

// No coroutine: its frames would be a fifth of what an event stream costs.
void Stream::call_at_end(std::weak_ptr<const void> wanted, std::function<void()> ended) {
  auto look_again = [this, wanted = std::move(wanted), ended = std::move(ended)](const boost::system::error_code& error) mutable {
    if (error || wanted.expired() || !socket_.is_open()) return;
    const Look seen = ssl_ ? tls_look() : look();
    if (seen == Look::kEnd) ended();
    if (seen == Look::kNothing) call_at_end(std::move(wanted), std::move(ended));   // a read was first
  };
  socket_.async_wait(net::socket_base::wait_read, std::move(look_again));
}

Stream::Look Stream::look() {
  char byte;
  const auto n = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n > 0) return Look::kData;
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? Look::kNothing : Look::kEnd;
}

// Records that carry no data, such as an alert or a new key, come and are no end.
Stream::Look Stream::tls_look() {
  char byte;
  std::size_t n = 0;
  ERR_clear_error();
  const int done = SSL_peek_ex(ssl_.get(), &byte, 1, &n);
  if (done == 1) return Look::kData;
  return SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ ? Look::kNothing : Look::kEnd;
}

net::awaitable<void> Stream::wait_for_hangup() {
  co_await socket_.async_wait(net::socket_base::wait_error, net::use_awaitable);
}

void Stream::cancel() {
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void Stream::shutdown_send() {
  boost::system::error_code ignored;
  if (ssl_ && socket_.is_open()) ERR_clear_error(), SSL_shutdown(ssl_.get());
  socket_.shutdown(net::socket_base::shutdown_send, ignored);
}

void Stream::reset() {
  boost::system::error_code ignored;
  socket_.set_option(net::socket_base::linger(true, 0), ignored);
  close();
}

void Stream::close() {
  boost::system::error_code ignored;
  // A closing alert, if the socket takes it; after an error SSL_shutdown() refuses by itself.
  if (ssl_ && socket_.is_open()) ERR_clear_error(), SSL_shutdown(ssl_.get()), ERR_clear_error();
  socket_.close(ignored);
}

std::string Stream::peer_name() const {
  return ssl_ ? certificate_name(ssl_.get()) : std::string();
}

}   // namespace kedge::server::http
