// The check of a pinned certificate.
#include "provisioning/http/pin.h"

#include <openssl/x509.h>

#include "provisioning/identity.h"

namespace kedge::provisioning::http {
namespace {

int verify(X509_STORE_CTX* store, void* pin) {
  X509* certificate = X509_STORE_CTX_get0_cert(store);
  unsigned char* der = nullptr;
  const int size = certificate ? i2d_X509(certificate, &der) : 0;
  if (size <= 0) return 0;
  const std::string digest = sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  const bool same = digest == *static_cast<const std::string*>(pin);
  X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  return same ? 1 : 0;
}

}  // namespace

void pin_certificate(SSL_CTX* context, const std::string& pin) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, verify, const_cast<std::string*>(&pin));
}

}  // namespace kedge::provisioning::http
