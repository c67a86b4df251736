// A certificate authority for tests.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace kedge::tests {

struct Issued {
  std::string certificate, key;   // PEM
};

class TestCa {
 public:
  TestCa();
  std::string certificate() const;   // PEM
  // usage: "clientAuth" or "serverAuth". Valid from `from_day` to `to_day`, counted from today.
  Issued issue(const std::string& name, const char* usage = "clientAuth", int from_day = -1, int to_day = 1) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

}  // namespace kedge::tests
