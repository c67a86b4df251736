// Ed25519 keys in OpenSSH's form (RFC 8709).
#include "provisioning/ssh_key.h"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <string_view>

#include "crypto/random.h"
#include "schemas/error.h"

namespace kedge::provisioning {
namespace {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

// A string of the SSH wire format: its length in four bytes, then its bytes. Ours are all shorter than 256.
void append(std::string& blob, std::string_view text) {
  blob += std::string(3, '\0');
  blob += static_cast<char>(text.size());
  blob += text;
}

}   // namespace

std::string unusable_ssh_key() {
  const std::unique_ptr<EVP_PKEY, KeyDeleter> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  std::array<unsigned char, 32> bytes{};
  std::size_t size = bytes.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &size) != 1)
    throw schema::Error(schema::ErrorCode::kInternal, "cannot make an SSH key");
  std::string blob;
  append(blob, "ssh-ed25519");
  append(blob, {reinterpret_cast<const char*>(bytes.data()), size});
  return "ssh-ed25519 " + crypto::base64(blob) + " kedge";
}

}   // namespace kedge::provisioning
