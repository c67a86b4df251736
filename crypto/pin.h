// Trust in one certificate alone.
#pragma once

#include <string>

struct ssl_ctx_st;

namespace kedge::crypto {

struct Pin {
  std::string expected;       // fingerprint of the certificate; empty: none is pinned
  std::string refused = {};   // that of the last certificate that was another
};

// From now on handshakes of `context` succeed only with that certificate: the key in it is the identity, and the handshake proves
// that the peer has it. Neither chain, nor name, nor dates count. `pin` must outlive the context.
void pin_certificate(ssl_ctx_st* context, Pin& pin);

}  // namespace kedge::crypto
