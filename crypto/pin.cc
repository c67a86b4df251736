// The check of a pinned certificate.
#include "crypto/pin.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "crypto/certificate.h"

namespace kedge::crypto {
namespace {

int is_pinned(X509_STORE_CTX* store, void* given) {
  Pin& pin = *static_cast<Pin*>(given);
  const X509* certificate = X509_STORE_CTX_get0_cert(store);
  const std::string shown = certificate ? fingerprint(certificate) : std::string();
  const bool same = certificate && shown == pin.expected;
  pin.refused = same ? std::string() : shown;
  X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  return same ? 1 : 0;
}

}  // namespace

void pin_certificate(ssl_ctx_st* context, Pin& pin) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, is_pinned, &pin);
}

}  // namespace kedge::crypto
