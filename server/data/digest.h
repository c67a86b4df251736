// MD5 and SHA-256 of a stream of bytes.
#pragma once

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

std::string hex_digest(DigestKind kind, std::string_view bytes);

}  // namespace kedge::server
