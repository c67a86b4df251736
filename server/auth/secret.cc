// Randomness and digests of OpenSSL.
#include "server/auth/secret.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <vector>

#include "schemas/error.h"

namespace kedge::server::auth {
namespace {

std::vector<unsigned char> random_bytes(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  if (RAND_bytes(bytes.data(), static_cast<int>(count)) != 1)
    throw schema::Error(schema::ErrorCode::kInternal, "the system gives no random bytes");
  return bytes;
}

std::string base64url(const std::vector<unsigned char>& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');   // the encoder ends with a zero
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

}  // namespace

std::string new_token() {
  return "kdg_" + base64url(random_bytes(32));
}

std::string new_token_id() {
  std::string id = "tok_";
  for (const unsigned char byte : random_bytes(12)) id += fmt::format("{:02x}", byte);
  return id;
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += kHex[digest[i] >> 4], hex += kHex[digest[i] & 15];
  return hex;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace kedge::server::auth
