// Decoding gzip, piece by piece, by ISA-L.
#include "server/data/inflate.h"

#include <fmt/core.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace kedge::server {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;   // that any stream may become

const char* cause(int error) {
  switch (error) {
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD: return "incorrect gzip header";
    case ISAL_INVALID_BLOCK: return "invalid deflate block";
    case ISAL_INVALID_SYMBOL: return "invalid deflate symbol";
    case ISAL_INVALID_LOOKBACK: return "invalid deflate distance";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect gzip checksum";
    default: return "damaged gzip stream";
  }
}

}  // namespace

struct Inflater::Impl {
  inflate_state state{};
  bool member_open = false, any = false;
  std::uint64_t taken = 0, made = 0;   // bytes, of whole calls and of the one that runs
  std::vector<char> piece = std::vector<char>(kPieceBytes);

  void begin_member() {
    isal_inflate_reset(&state);
    state.crc_flag = ISAL_GZIP;   // reads the head, checks checksum and length
    member_open = any = true;
  }
  void check_ratio(std::uint64_t taken_now) const {
    if (made > kFreeBytes && made / kMostInflation > taken + taken_now)
      throw InflateError{fmt::format("it becomes more than {} times as large as it is", kMostInflation)};
  }
};

Inflater::Inflater() : impl_(std::make_unique<Impl>()) { isal_inflate_init(&impl_->state); }

Inflater::~Inflater() = default;

bool Inflater::complete() const { return impl_->any && !impl_->member_open; }

void Inflater::feed(std::string_view bytes, const std::function<void(std::string_view)>& sink) {
  Impl& in = *impl_;
  while (!bytes.empty()) {
    const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), std::numeric_limits<std::uint32_t>::max()));
    if (!in.member_open) in.begin_member();
    in.state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    in.state.avail_in = size;
    do {
      in.state.next_out = reinterpret_cast<std::uint8_t*>(in.piece.data());
      in.state.avail_out = static_cast<std::uint32_t>(in.piece.size());
      if (const int error = isal_inflate(&in.state); error != ISAL_DECOMP_OK) throw InflateError{cause(error)};
      const std::size_t made = in.piece.size() - in.state.avail_out;
      in.made += made;
      in.check_ratio(size - in.state.avail_in);
      if (made > 0) sink({in.piece.data(), made});
      in.member_open = in.state.block_state != ISAL_BLOCK_FINISH;
    } while (in.member_open && in.state.avail_out == 0);
    in.taken += size - in.state.avail_in;
    bytes.remove_prefix(size - in.state.avail_in);
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
