// MD5 and SHA-256 of a stream of bytes, by OpenSSL.
#include "server/data/digest.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <fstream>

#include "engine/core/require.h"

namespace kedge::server {

struct Digest::Impl {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Digest::Digest(DigestKind kind) : impl_(std::make_unique<Impl>()) {
  const EVP_MD* method = kind == DigestKind::kMd5 ? EVP_md5() : EVP_sha256();
  engine::require(impl_->context && EVP_DigestInit_ex(impl_->context.get(), method, nullptr) == 1, schema::ErrorCode::kInternal,
                  "OpenSSL offers no {}", kind == DigestKind::kMd5 ? "MD5" : "SHA-256");
}

Digest::~Digest() = default;

void Digest::update(std::string_view bytes) { EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()); }

std::string Digest::hex() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(impl_->context.get(), bytes, &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string file_digest(DigestKind kind, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Digest digest(kind);
  std::string piece(1 << 20, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
    digest.update({piece.data(), static_cast<std::size_t>(file.gcount())});
  engine::require(file.eof() && !file.bad(), schema::ErrorCode::kUnavailable, "{} cannot be read", path.filename().string());
  return digest.hex();
}

std::string digest_field(std::string_view sha256_hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < sha256_hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(sha256_hex.substr(i, 2)), nullptr, 16));
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return "sha-256=:" + text + ":";
}

std::string hex_digest(DigestKind kind, std::string_view bytes) {
  Digest digest(kind);
  digest.update(bytes);
  return digest.hex();
}

}  // namespace kedge::server
