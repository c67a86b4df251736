// Trust in one certificate alone, by its digest.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace kedge::provisioning::http {

// From now on handshakes of `context` succeed only with the certificate whose DER form has this SHA-256 (lower-case hex).
// Neither the chain, nor the name, nor the dates count. `pin` must outlive the context.
void pin_certificate(SSL_CTX* context, const std::string& pin);

}  // namespace kedge::provisioning::http
