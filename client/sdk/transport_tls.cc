// Trust, as libcurl and OpenSSL take it.
#include "client/sdk/transport_tls.h"

#include <curl/curl.h>
#include <fmt/core.h>

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

CURLcode check_pin(CURL*, void* context, void* pin) {
  crypto::pin_certificate(static_cast<ssl_ctx_st*>(context), *static_cast<crypto::Pin*>(pin));
  return CURLE_OK;
}

}  // namespace

TlsTrust TlsTrust::from_environment() {
  return {.ca = environment("KEDGE_CA"),
          .pin = {.expected = plain_hex(environment("KEDGE_PIN"))},
          .certificate = environment("KEDGE_CLIENT_CERT"),
          .key = environment("KEDGE_CLIENT_KEY")};
}

void apply(TlsTrust& trust, CURL* handle) {
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!trust.ca.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, trust.ca.c_str());
  if (!trust.certificate.empty()) curl_easy_setopt(handle, CURLOPT_SSLCERT, trust.certificate.c_str());
  if (!trust.key.empty()) curl_easy_setopt(handle, CURLOPT_SSLKEY, trust.key.c_str());
  trust.pin.refused.clear();
  if (trust.pin.expected.empty()) return;
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);   // the pin says more than a name
  curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, check_pin);
  curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, &trust.pin);
}

std::string distrust(const TlsTrust& trust, int curl_code) {
  if (!trust.pin.refused.empty())
    return fmt::format(
        "the server's certificate has the SHA-256 {}, but KEDGE_PIN is {}: another server answers there, or this one has a new "
        "certificate; do not send it a token before you have the new pin from its operator ('kedged' logs it when it starts)",
        trust.pin.refused, trust.pin.expected);
  if (curl_code == CURLE_PEER_FAILED_VERIFICATION)
    return "the server's certificate is signed by no authority that is known here, or is for another name: KEDGE_PIN takes its SHA-256 "
           "('kedged init' prints it), KEDGE_CA a file with its authority";
  return {};
}

}  // namespace kedge
