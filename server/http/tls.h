// The server's certificate and its rules for TLS: versions 1.2 and 1.3, forward-secret suites with authenticated encryption.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace kedge::server::http {

// Each member is the name of a PEM file, or PEM text itself, which begins with "-----BEGIN".
struct TlsOptions {
  std::string certificate;   // the server's, then its intermediates; empty: no TLS
  std::string key;           // of the server's certificate
  std::string client_ca;     // empty: clients need no certificate; otherwise they must show one that this signed
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// Immutable. Connections keep the one that they began with, so a new certificate disturbs none.
class TlsContext {
 public:
  // Errors: kInvalidValue, naming the option, when a file cannot be read or used, or the key is another certificate's.
  explicit TlsContext(const TlsOptions& options);

  ssl_ctx_st* get() const { return context_.get(); }
  std::string fingerprint() const;   // SHA-256 of the certificate's DER form, in lower-case hex: what a client pins

 private:
  std::shared_ptr<ssl_ctx_st> context_;   // shared by OpenSSL's own count with the connections
};

// The tenant of a client certificate: the first DNS name among its alternative names, otherwise its common name; empty
// without one.
std::string certificate_name(const ssl_st* connection);

}  // namespace kedge::server::http
