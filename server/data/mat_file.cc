// Of "MAT-File Format", chapter 1: elements with a type and a size, matrices that have elements within.
#include "server/data/mat_file.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/core/require.h"

namespace kedge::server {
namespace {

using engine::require;
using schema::ErrorCode;

constexpr std::size_t kHeader = 128, kTag = 8, kByteOrder = 126;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;   // that a compressed matrix becomes

enum Type : std::uint32_t { kBytes = 2, kInt32 = 5, kMatrix = 14, kCompressed = 15 };

struct Element {
  std::uint32_t type = 0;
  std::string_view content;
};

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Takes the first element off; nothing where the bytes end within it.
std::optional<Element> take(std::string_view& bytes) {
  if (bytes.size() < kTag) return std::nullopt;
  const auto type = number_at<std::uint32_t>(bytes, 0);
  if (const std::uint32_t small = type >> 16; small != 0) {   // of up to 4 bytes, within the tag
    if (small > 4) return std::nullopt;
    const Element element{type & 0xFFFF, bytes.substr(4, small)};
    bytes.remove_prefix(kTag);
    return element;
  }
  const std::size_t size = number_at<std::uint32_t>(bytes, 4);
  if (size > bytes.size() - kTag) return std::nullopt;
  const Element element{type, bytes.substr(kTag, size)};
  const std::size_t padded = type == kCompressed ? size : (size + 7) / 8 * 8;
  bytes.remove_prefix(std::min(bytes.size(), kTag + padded));
  return element;
}

// Nothing: damaged, or too large.
std::optional<std::string> inflate_zlib(std::string_view packed) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_ZLIB;
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));   // is not written to
  state.avail_in = static_cast<std::uint32_t>(packed.size());
  std::string out;
  while (state.block_state != ISAL_BLOCK_FINISH) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    const std::size_t before = out.size();
    out.resize(before + kPiece);
    state.next_out = reinterpret_cast<std::uint8_t*>(out.data() + before), state.avail_out = kPiece;
    if (isal_inflate(&state) != ISAL_DECOMP_OK || out.size() > kMostBytes) return std::nullopt;
    out.resize(out.size() - state.avail_out);
    if (out.size() == before && state.block_state != ISAL_BLOCK_FINISH) return std::nullopt;   // the bytes have ended
  }
  return out;
}

// The parts of a matrix: flags, dimensions, name, values. Nothing: it has another name.
std::optional<ByteMatrix> matrix_named(std::string_view bytes, std::string_view wanted, const std::string& what) {
  const auto flags = take(bytes), shape = take(bytes), name = take(bytes), values = take(bytes);
  if (!flags || !shape || !name || name->content != wanted) return std::nullopt;
  const bool has_two = shape->type == kInt32 && shape->content.size() == 2 * sizeof(std::int32_t);
  ByteMatrix matrix;
  if (has_two) {
    matrix.rows = number_at<std::int32_t>(shape->content, 0);
    matrix.columns = number_at<std::int32_t>(shape->content, sizeof(std::int32_t));
  }
  const bool is_right = has_two && matrix.rows >= 0 && matrix.columns >= 0 && values && values->type == kBytes &&
                        values->content.size() == static_cast<std::size_t>(matrix.rows * matrix.columns);
  require(is_right, ErrorCode::kDatasetCorrupt, "{}: '{}' is no matrix of bytes", what, wanted);
  matrix.values = values->content;
  return matrix;
}

}   // namespace

ByteMatrix byte_matrix_of(std::string_view file, std::string_view name, const std::string& what) {
  const bool is_mat =
      file.size() >= kHeader && file.substr(kByteOrder, 2) == "IM";   // its numbers begin with the low byte
  require(is_mat, ErrorCode::kDatasetCorrupt, "{}: it is no MATLAB file of version 5", what);
  file.remove_prefix(kHeader);
  while (const auto element = take(file)) {
    std::string inflated;
    std::string_view bytes = element->content;
    if (element->type == kCompressed) {
      auto plain = inflate_zlib(bytes);
      require(plain.has_value(), ErrorCode::kDatasetCorrupt, "{}: a compressed part is damaged", what);
      inflated = std::move(*plain);
      std::string_view rest = inflated;
      const auto inner = take(rest);
      if (!inner || inner->type != kMatrix) continue;
      bytes = inner->content;
    } else if (element->type != kMatrix) {
      continue;
    }
    if (auto matrix = matrix_named(bytes, name, what)) return std::move(*matrix);
  }
  throw schema::Error(ErrorCode::kDatasetCorrupt, what + ": it has no matrix '" + std::string(name) + "'");
}

}   // namespace kedge::server
