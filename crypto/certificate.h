// A key and a certificate of our own making, for clients that pin it.
#pragma once

#include <string>
#include <vector>

struct x509_st;

namespace kedge::crypto {

struct SelfSigned {
  std::string certificate, key;   // PEM
  std::string fingerprint;        // of the certificate
  std::string public_key_pin;     // "sha256//BASE64", as curl's --pinnedpubkey takes it
};

// P-256, valid from two days ago (clocks differ) for this many days, for these host names and IP addresses.
SelfSigned make_self_signed(const std::vector<std::string>& hosts, int days);

// SHA-256 of the certificate's DER form, in lower-case hex: what a client pins.
std::string fingerprint(const x509_st* certificate);

}  // namespace kedge::crypto
