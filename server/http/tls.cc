// Setting OpenSSL up.
#include "server/http/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string_view>

#include "crypto/certificate.h"
#include "crypto/openssl_handles.h"
#include "schemas/error.h"

namespace kedge::server::http {
namespace {

using schema::Error;
using schema::ErrorCode;

using crypto::Bio, crypto::Certificate, crypto::Key;

constexpr const char* kSuites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr unsigned char kHttp11[] = "\x08http/1.1";

[[noreturn]] void refuse(std::string_view option, std::string_view problem) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  throw Error(ErrorCode::kInvalidValue,
              fmt::format("{}: {}{}{}", option, problem, reason ? ": " : "", reason ? reason : ""), std::string(option));
}

Bio open(const std::string& pem, std::string_view option) {
  if (pem.starts_with("-----BEGIN")) return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Bio file(BIO_new_file(pem.c_str(), "r"));
  if (!file) refuse(option, fmt::format("cannot read {}", pem));
  return file;
}

void use_certificate(SSL_CTX* context, const std::string& pem) {
  const Bio text = open(pem, "tls-cert");
  const Certificate own(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) refuse("tls-cert", "holds no certificate in PEM form");
  while (X509* next = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr))
    if (SSL_CTX_add0_chain_cert(context, next) != 1) X509_free(next), refuse("tls-cert", "has an intermediate that cannot be used");
  ERR_clear_error();   // the end of the file
}

void use_key(SSL_CTX* context, const std::string& pem) {
  const Bio text = open(pem, "tls-key");
  const auto no_password = [](char*, int, int, void*) { return 0; };   // else OpenSSL asks the terminal
  const Key key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr));
  if (!key) refuse("tls-key", "holds no private key in PEM form without a password");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    refuse("tls-key", "is not the key of the certificate");
}

void use_client_ca(SSL_CTX* context, const std::string& pem) {
  const Bio text = open(pem, "tls-client-ca");
  int n = 0;
  while (const Certificate ca{PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get());
    SSL_CTX_add_client_CA(context, ca.get());
    ++n;
  }
  ERR_clear_error();
  if (n == 0) refuse("tls-client-ca", "holds no certificate in PEM form");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size, void*) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kHttp11, sizeof kHttp11 - 1, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
  // An idle connection gives its buffers back: ten thousand may be open.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);   // a record's head and body in one read
  SSL_CTX_set_session_id_context(context, kHttp11, sizeof kHttp11 - 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);   // tickets resume sessions, and need no memory
  SSL_CTX_set_max_cert_list(context, 32 * 1024);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (SSL_CTX_set_cipher_list(context, kSuites) != 1 || SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") != 1)
    refuse("tls", "this OpenSSL lacks the suites that are offered");
}

std::string common_name(X509* certificate) {
  char text[256] = "";
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

TlsContext::TlsContext(const TlsOptions& options) : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
  if (options.key.empty()) refuse("tls-key", "is missing: a certificate needs its key");
  set_rules(get());
  use_certificate(get(), options.certificate);
  use_key(get(), options.key);
  if (!options.client_ca.empty()) use_client_ca(get(), options.client_ca);
}

std::string TlsContext::fingerprint() const { return crypto::fingerprint(SSL_CTX_get0_certificate(get())); }

std::string certificate_name(const ssl_st* connection) {
  X509* certificate = SSL_get0_peer_certificate(connection);
  if (!certificate) return {};
  std::string name;
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && name.empty(); ++i) {
    const GENERAL_NAME* entry = sk_GENERAL_NAME_value(names, i);
    if (entry->type == GEN_DNS)
      name.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(entry->d.dNSName)),
                  static_cast<std::size_t>(ASN1_STRING_length(entry->d.dNSName)));
  }
  GENERAL_NAMES_free(names);
  return name.empty() ? common_name(certificate) : name;
}

}  // namespace kedge::server::http
