// OpenSSL over a socket that does not block.
#include "crypto/tls_channel.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "crypto/openssl_handles.h"
#include "schemas/error.h"

namespace kedge::crypto {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kMostAhead = std::size_t{1} << 20;   // bytes that were received and not yet used

std::string last_reason(const char* otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : otherwise;
}

void use(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  const Bio certificate_text(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  const Bio key_text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  const auto no_password = [](char*, int, int, void*) { return 0; };   // else OpenSSL asks the terminal
  const Certificate own(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key secret(PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_password, nullptr));
  if (!own || !secret || SSL_CTX_use_certificate(context, own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, secret.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    throw Error(ErrorCode::kInvalidValue, "no certificate with its private key in PEM form: " + last_reason("no PEM"));
}

}   // namespace

struct TlsChannel::Impl {
  std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>> context;
  std::unique_ptr<SSL, Deleter<SSL_free>> ssl;
  Pin pin;   // the context has its address
  int fd = -1;
  std::string out, in, problem;
  std::size_t sent = 0;   // of `out`
  bool ready = false, ended = false, wants_write = false;

  explicit Impl(int socket) : fd(socket) {}
  ~Impl() {
    if (ready && !ended) SSL_shutdown(ssl.get());
    ::close(fd);
  }

  void begin(const SSL_METHOD* method) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    context.reset(SSL_CTX_new(method));
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  void attach() {
    ssl.reset(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), fd);
  }

  // Whether the call can be repeated at once. `code` is what it returned.
  bool went_on(int code) {
    if (code > 0) return true;
    const int why = SSL_get_error(ssl.get(), code);
    wants_write = why == SSL_ERROR_WANT_WRITE;
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
    ended = true;
    if (why != SSL_ERROR_ZERO_RETURN) problem = last_reason("the connection was cut");
    return false;
  }

  void write() {
    while (!ended && sent < out.size()) {
      const int n = SSL_write(ssl.get(), out.data() + sent, static_cast<int>(std::min(out.size() - sent, kMostAhead)));
      if (!went_on(n)) break;
      sent += static_cast<std::size_t>(n);
    }
    if (sent == out.size() || sent > kMostAhead) out.erase(0, std::exchange(sent, 0));
  }
  void read() {
    std::array<char, 16384> buffer;
    while (!ended && in.size() < kMostAhead) {
      const int n = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (!went_on(n)) break;
      in.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }
};

TlsChannel::TlsChannel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsChannel::TlsChannel(TlsChannel&&) noexcept = default;
TlsChannel::~TlsChannel() = default;

TlsChannel TlsChannel::accepting(int fd, const std::string& certificate, const std::string& key) {
  auto impl = std::make_unique<Impl>(fd);
  impl->begin(TLS_server_method());
  use(impl->context.get(), certificate, key);
  impl->attach();
  SSL_set_accept_state(impl->ssl.get());
  return TlsChannel(std::move(impl));
}

TlsChannel TlsChannel::connecting(int fd, const std::string& fingerprint) {
  auto impl = std::make_unique<Impl>(fd);
  impl->begin(TLS_client_method());
  impl->pin.expected = fingerprint;
  pin_certificate(impl->context.get(), impl->pin);
  impl->attach();
  SSL_set_connect_state(impl->ssl.get());
  return TlsChannel(std::move(impl));
}

int TlsChannel::fd() const {
  return impl_->fd;
}

short TlsChannel::events() const {
  const bool has_room = impl_->in.size() < kMostAhead;
  const bool writes = impl_->wants_write || (impl_->ready && queued() > 0);
  return static_cast<short>((has_room ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

bool TlsChannel::has_more() const {
  return impl_->ready && impl_->in.size() < kMostAhead && SSL_pending(impl_->ssl.get()) > 0;
}

void TlsChannel::step() {
  if (impl_->ended) return;
  ERR_clear_error();
  impl_->wants_write = false;
  if (!impl_->ready) impl_->ready = impl_->went_on(SSL_do_handshake(impl_->ssl.get()));
  if (!impl_->ready) return;
  impl_->read();
  impl_->write();
}

void TlsChannel::send(std::string_view bytes) {
  impl_->out.append(bytes);
}
std::size_t TlsChannel::queued() const {
  return impl_->out.size() - impl_->sent;
}
std::string& TlsChannel::received() {
  return impl_->in;
}
bool TlsChannel::is_ready() const {
  return impl_->ready;
}
bool TlsChannel::has_ended() const {
  return impl_->ended;
}
std::string TlsChannel::problem() const {
  return impl_->problem;
}
std::string TlsChannel::refused() const {
  return impl_->pin.refused;
}

}   // namespace kedge::crypto
