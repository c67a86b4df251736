// Randomness and base64 of OpenSSL.
#include "crypto/random.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>

#include "crypto/digest.h"
#include "schemas/error.h"

namespace kedge::crypto {

std::string random_bytes(int count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), count) != 1)
    throw schema::Error(schema::ErrorCode::kInternal, "the system gives no random bytes");
  return bytes;
}

std::string random_hex(int bytes) { return to_hex(random_bytes(bytes)); }

std::string random_base64url(int bytes) { return base64url(random_bytes(bytes)); }

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');   // the encoder ends with a zero
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string text = base64(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

std::string base64_decoded(std::string_view text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) throw schema::Error(schema::ErrorCode::kMalformed, "not base64");
  std::size_t length = static_cast<std::size_t>(size);
  for (std::size_t i = text.size(); i > 0 && text[i - 1] == '=' && length > 0; --i) --length;
  out.resize(length);
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace kedge::crypto
