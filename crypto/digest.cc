// MD5 and SHA-256, by OpenSSL.
#include "crypto/digest.h"

#include <openssl/evp.h>

#include <charconv>
#include <fstream>

#include "schemas/error.h"

namespace kedge::crypto {

namespace {

// Fetched once: a search through OpenSSL's providers takes longer than the digest of a small file.
const EVP_MD* algorithm(DigestKind kind) {
  static const EVP_MD* const md5 = EVP_MD_fetch(nullptr, "MD5", nullptr);
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kind == DigestKind::kMd5 ? md5 : sha256;
}

}   // namespace

struct Digest::Impl {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Digest::Digest(DigestKind kind) : impl_(std::make_unique<Impl>()) {
  const EVP_MD* const md = algorithm(kind);
  if (!md || !impl_->context || EVP_DigestInit_ex(impl_->context.get(), md, nullptr) != 1)
    throw schema::Error(schema::ErrorCode::kInternal,
                        std::string("OpenSSL offers no ") + (kind == DigestKind::kMd5 ? "MD5" : "SHA-256"));
}

Digest::~Digest() = default;

void Digest::update(std::string_view bytes) { EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()); }

std::string Digest::hex() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(impl_->context.get(), bytes, &size);
  return to_hex({reinterpret_cast<const char*>(bytes), size});
}

std::string hex_digest(DigestKind kind, std::string_view bytes) {
  Digest digest(kind);
  digest.update(bytes);
  return digest.hex();
}

std::string file_digest(DigestKind kind, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Digest digest(kind);
  std::string piece(1 << 16, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
    digest.update({piece.data(), static_cast<std::size_t>(file.gcount())});
  if (!file.eof() || file.bad()) throw schema::Error(schema::ErrorCode::kUnavailable, path.filename().string() + " cannot be read");
  return digest.hex();
}

std::string sha256_hex(std::string_view bytes) { return hex_digest(DigestKind::kSha256, bytes); }

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4], text += kDigits[byte & 15];
  }
  return text;
}

std::string from_hex(std::string_view digits) {
  std::string bytes(digits.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, byte, 16);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace kedge::crypto
