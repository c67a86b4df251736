// Whom the client trusts: the system's authorities, those of a file, or the one certificate that was pinned.
#pragma once

#include <string>

#include "crypto/pin.h"

using CURL = void;

namespace kedge {

struct TlsTrust {
  std::string ca;                  // PEM file of authorities; empty: the system's
  crypto::Pin pin;                 // of the one certificate that will do: then neither authority nor name nor dates count
  std::string certificate, key;    // PEM files, shown to servers that ask for a client certificate; empty: none

  // KEDGE_CA, KEDGE_PIN, KEDGE_CLIENT_CERT, KEDGE_CLIENT_KEY. Error{kInvalidValue} for a pin that is none.
  static TlsTrust from_environment();
};

// `trust` must outlive what the handle does, which may set pin.refused.
void apply(TlsTrust& trust, CURL* handle);

// Why the server is not trusted, and what helps: a sentence for a transfer that has ended with `curl_code`. Empty: trust was not the matter.
std::string distrust(const TlsTrust& trust, int curl_code);

}  // namespace kedge
