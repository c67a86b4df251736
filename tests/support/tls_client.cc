// A TLS client on OpenSSL and a blocking socket.
#include "tests/support/tls_client.h"

#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

namespace kedge::tests {
namespace {

template <class T, class Read>
T* read_pem(const std::string& text, Read read) {
  BIO* bio = BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  T* object = read(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return object;
}

}  // namespace

TlsConnection::TlsConnection(std::uint16_t port, const TlsClientOptions& options)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
  std::signal(SIGPIPE, SIG_IGN);
  const timeval patience{20, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(port), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SSL_CTX_set_security_level(context_.get(), 0);   // so that what the server must refuse is offered
  if (options.version) SSL_CTX_set_min_proto_version(context_.get(), options.version), SSL_CTX_set_max_proto_version(context_.get(), options.version);
  if (!options.suites.empty()) SSL_CTX_set_cipher_list(context_.get(), options.suites.c_str());
  if (!options.certificate.empty()) {
    X509* certificate = read_pem<X509>(options.certificate, PEM_read_bio_X509);
    EVP_PKEY* key = read_pem<EVP_PKEY>(options.key, PEM_read_bio_PrivateKey);
    SSL_CTX_use_certificate(context_.get(), certificate);
    SSL_CTX_use_PrivateKey(context_.get(), key);
    X509_free(certificate), EVP_PKEY_free(key);
  }
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), fd_);
  connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && SSL_connect(ssl_.get()) == 1;
}

TlsConnection::~TlsConnection() { close(); }

void TlsConnection::close() {
  if (fd_ < 0) return;
  if (connected_) SSL_shutdown(ssl_.get());
  ::close(fd_);
  fd_ = -1;
}

bool TlsConnection::send(std::string_view bytes) {
  return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
}

bool TlsConnection::fill() {
  char buffer[16 * 1024];
  const int n = SSL_read(ssl_.get(), buffer, sizeof buffer);
  if (n <= 0) return false;
  in_.append(buffer, static_cast<std::size_t>(n));
  return true;
}

std::string TlsConnection::read_until(std::string_view end) {
  std::size_t found;
  while ((found = in_.find(end)) == std::string::npos)
    if (!fill()) return std::exchange(in_, {});
  std::string out = in_.substr(0, found + end.size());
  in_.erase(0, found + end.size());
  return out;
}

std::string TlsConnection::read_to_end() {
  while (fill()) {
  }
  return std::exchange(in_, {});
}

std::string TlsConnection::get(std::string_view target, std::string_view more_fields) {
  send("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more_fields) + "\r\n");
  const std::string head = read_until("\r\n\r\n");
  const auto at = head.find("Content-Length: ");
  const std::size_t size = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
  while (in_.size() < size && fill()) {
  }
  in_.erase(0, std::min(size, in_.size()));
  return head.substr(0, head.find("\r\n"));
}

std::string TlsConnection::fingerprint() const {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (!certificate) return {};
  X509_digest(certificate, EVP_sha256(), digest, &size);
  std::string text;
  char hex[3];
  for (unsigned i = 0; i < size; ++i) std::snprintf(hex, sizeof hex, "%02x", digest[i]), text += hex;
  return text;
}

std::string TlsConnection::suite() const { return SSL_get_cipher_name(ssl_.get()); }

}  // namespace kedge::tests
