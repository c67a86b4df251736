// Trust, as libcurl and OpenSSL take it.
#include "client/sdk/transport_tls.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cctype>
#include <cstdlib>

#include "schemas/error.h"

namespace kedge {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Lower case, without colons.
std::string plain_hex(const std::string& text) {
  std::string hex;
  for (const char c : text)
    if (c != ':') hex += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (hex.empty() || (hex.size() == 64 && hex.find_first_not_of("0123456789abcdef") == std::string::npos)) return hex;
  throw schema::Error(schema::ErrorCode::kInvalidValue, "KEDGE_PIN: must be the SHA-256 of a certificate, 64 hexadecimal digits",
                      "KEDGE_PIN");
}

// The key in the certificate is the identity: the handshake proves that the server has it.
int is_pinned(X509_STORE_CTX* store, void* given) {
  TlsTrust& trust = *static_cast<TlsTrust*>(given);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  X509* certificate = X509_STORE_CTX_get0_cert(store);
  if (!certificate || X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return 0;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += kHex[digest[i] >> 4], hex += kHex[digest[i] & 15];
  const bool same = hex == trust.pin;
  trust.refused = same ? std::string() : hex;
  X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  return same ? 1 : 0;
}

CURLcode check_pin(CURL*, void* context, void* trust) {
  SSL_CTX_set_verify(static_cast<SSL_CTX*>(context), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(static_cast<SSL_CTX*>(context), is_pinned, trust);
  return CURLE_OK;
}

}  // namespace

TlsTrust TlsTrust::from_environment() {
  return {.ca = environment("KEDGE_CA"),
          .pin = plain_hex(environment("KEDGE_PIN")),
          .certificate = environment("KEDGE_CLIENT_CERT"),
          .key = environment("KEDGE_CLIENT_KEY")};
}

void apply(TlsTrust& trust, CURL* handle) {
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!trust.ca.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, trust.ca.c_str());
  if (!trust.certificate.empty()) curl_easy_setopt(handle, CURLOPT_SSLCERT, trust.certificate.c_str());
  if (!trust.key.empty()) curl_easy_setopt(handle, CURLOPT_SSLKEY, trust.key.c_str());
  trust.refused.clear();
  if (trust.pin.empty()) return;
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);   // the pin says more than a name
  curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, check_pin);
  curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, &trust);
}

std::string distrust(const TlsTrust& trust, int curl_code) {
  if (!trust.pin.empty() && !trust.refused.empty())
    return fmt::format("the server's certificate has the SHA-256 {}, but KEDGE_PIN is {}: another server answers there, or this one has a new "
                       "certificate; do not send it a token before its operator has told you the new pin ('kedged' logs it when it starts)",
                       trust.refused, trust.pin);
  if (curl_code == CURLE_PEER_FAILED_VERIFICATION)
    return "the server's certificate is signed by no authority that is known here, or is for another name: KEDGE_PIN takes its SHA-256 "
           "('kedged init' prints it), KEDGE_CA a file with its authority";
  return {};
}

}  // namespace kedge
