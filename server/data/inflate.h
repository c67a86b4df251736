// Decoding gzip, piece by piece.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace kedge::server {

// The stream is not gzip, or is damaged.
struct InflateError {
  std::string what;
};

// Of text that means something; a stream beyond that, and beyond 64 MiB, is refused, because it would fill the disk.
inline constexpr std::uint64_t kMostInflation = 200;

class Inflater {
 public:
  Inflater();
  ~Inflater();
  // Hands decoded pieces of up to 256 KiB to `sink`. Several gzip members in a row count as one stream. Throws InflateError.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& sink);
  bool complete() const;   // a member has ended, with its checksum, and no other has begun

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

bool looks_like_gzip(std::string_view bytes);

std::string inflate_text(std::string_view gzip);   // for small data; throws InflateError

}  // namespace kedge::server
