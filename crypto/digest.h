// MD5 and SHA-256.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::crypto {

enum class DigestKind { kMd5, kSha256 };

// Of a stream of bytes.
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

std::string hex_digest(DigestKind kind, std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

// Two lower-case digits a byte, and back.
std::string to_hex(std::string_view bytes);
std::string from_hex(std::string_view digits);

}  // namespace kedge::crypto
