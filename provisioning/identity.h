// What lets the first connection be an authenticated one: a certificate made here, pinned by the client, and a one-time token.
#pragma once

#include <string>
#include <string_view>

namespace kedge::provisioning {

// Made for one machine and worth nothing elsewhere. The machine gets certificate, key and the token's hash, the client keeps the
// token and the pin. No key of the provider's account is among them.
struct Identity {
  std::string certificate;  // PEM, self-signed, P-256
  std::string key;          // PEM
  std::string pin;          // SHA-256 of the certificate's DER form, in lower-case hex
  std::string token;        // 256 random bits in base64url

  friend bool operator==(const Identity&, const Identity&) = default;
};

// Valid from two days ago, so that a machine whose clock is behind accepts it.
Identity make_identity(const std::string& name);

std::string sha256_hex(std::string_view bytes);
std::string random_hex(int bytes);  // from the operating system's generator
std::string base64(std::string_view bytes);
std::string base64_decoded(std::string_view text);  // schema::Error{kMalformed} when it is none

}  // namespace kedge::provisioning
