// What lets the first connection be an authenticated one: a certificate made here, pinned by the client, and a one-time token.
#pragma once

#include <string>

namespace kedge::provisioning {

// Made for one machine and worth nothing elsewhere. The machine gets certificate, key and the token's hash, the client keeps the
// token and the pin. No key of the provider's account is among them.
struct Identity {
  std::string certificate;  // PEM, self-signed
  std::string key;          // PEM
  std::string pin;          // the certificate's fingerprint
  std::string token;        // 256 random bits in base64url

  friend bool operator==(const Identity&, const Identity&) = default;
};

// `name` is the certificate's host name.
Identity make_identity(const std::string& name);

}  // namespace kedge::provisioning
