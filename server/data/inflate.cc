// Decoding gzip, piece by piece, by zlib.
#include "server/data/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace kedge::server {
namespace {
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
}

struct Inflater::Impl {
  z_stream stream{};
  bool member_open = false, any = false;
  std::vector<char> piece = std::vector<char>(kPieceBytes);
};

Inflater::Inflater() : impl_(std::make_unique<Impl>()) {
  if (inflateInit2(&impl_->stream, 16 + MAX_WBITS) != Z_OK) throw InflateError{"zlib has no memory"};
}

Inflater::~Inflater() { inflateEnd(&impl_->stream); }

bool Inflater::complete() const { return impl_->any && !impl_->member_open; }

void Inflater::feed(std::string_view bytes, const std::function<void(std::string_view)>& sink) {
  Impl& in = *impl_;
  while (!bytes.empty()) {
    const auto size = static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
    in.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    in.stream.avail_in = size;
    if (!in.member_open && in.any) inflateReset(&in.stream);
    in.member_open = in.any = true;
    int status = Z_OK;
    do {
      in.stream.next_out = reinterpret_cast<Bytef*>(in.piece.data());
      in.stream.avail_out = static_cast<uInt>(in.piece.size());
      status = inflate(&in.stream, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        throw InflateError{in.stream.msg ? in.stream.msg : "damaged gzip stream"};
      sink({in.piece.data(), in.piece.size() - in.stream.avail_out});
    } while (status == Z_OK && in.stream.avail_out == 0);
    in.member_open = status != Z_STREAM_END;
    bytes.remove_prefix(size - in.stream.avail_in);
  }
}

bool looks_like_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b\x08"); }

std::string inflate_text(std::string_view gzip) {
  std::string text;
  Inflater inflater;
  inflater.feed(gzip, [&](std::string_view piece) { text.append(piece); });
  if (!inflater.complete()) throw InflateError{"the gzip stream ends early"};
  return text;
}

}  // namespace kedge::server
