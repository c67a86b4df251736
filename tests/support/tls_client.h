// A TLS client for tests: blocking, trusts every server, says what it saw.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::tests {

struct TlsClientOptions {
  int version = 0;                    // TLS1_2_VERSION, ...; 0: any
  std::string suites;                 // of TLS 1.2; empty: OpenSSL's
  std::string certificate, key;       // PEM text; empty: none is shown
};

// One connection to loopback. Reading gives up after 20 s, which no passing test comes near.
class TlsConnection {
 public:
  explicit TlsConnection(std::uint16_t port, const TlsClientOptions& options = {});
  ~TlsConnection();
  TlsConnection(const TlsConnection&) = delete;

  bool connected() const { return connected_; }   // hands were shaken
  bool send(std::string_view bytes);
  std::string read_until(std::string_view end);    // shorter if the connection ends
  std::string read_to_end();
  std::string get(std::string_view target, std::string_view more_fields = {});   // the status line
  std::string fingerprint() const;                 // of the server's certificate
  std::string suite() const;
  void close();

 private:
  bool fill();

  int fd_ = -1;
  bool connected_ = false;
  std::string in_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
};

}  // namespace kedge::tests
