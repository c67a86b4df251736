// MD5 and SHA-256 of a stream of bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::server {

enum class DigestKind { kMd5, kSha256 };

class Digest {
 public:
  explicit Digest(DigestKind kind);
  ~Digest();
  void update(std::string_view bytes);
  std::string hex();   // lower case; ends the stream

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Of a whole file. Errors: kUnavailable when it cannot be read.
std::string file_digest(DigestKind kind, const std::filesystem::path& path);

// "sha-256=:BASE64:", the form of the fields Content-Digest and Repr-Digest (RFC 9530), of a SHA-256 in hex.
std::string digest_field(std::string_view sha256_hex);

std::string hex_digest(DigestKind kind, std::string_view bytes);

}  // namespace kedge::server
