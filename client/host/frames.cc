// Frames as bytes.
#include "client/host/frames.h"

#include <cstdint>

#include "schemas/error.h"

namespace kedge::host {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kKinds = "CIOEXRB";
constexpr std::size_t kHead = 5;

}   // namespace

std::string encoded(FrameKind kind, std::string_view bytes) {
  std::string frame(1, static_cast<char>(kind));
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>((bytes.size() >> shift) & 0xff);
  return frame.append(bytes);
}

std::optional<Frame> take_frame(std::string& received) {
  if (received.empty()) return std::nullopt;
  if (kKinds.find(received[0]) == std::string_view::npos)
    throw Error(ErrorCode::kMalformed, "the other side does not speak the protocol of kedge host-exec");
  if (received.size() < kHead) return std::nullopt;
  std::uint32_t size = 0;
  for (std::size_t i = 1; i < kHead; ++i) size = size << 8 | static_cast<unsigned char>(received[i]);
  if (size > kMostFrameBytes) throw Error(ErrorCode::kMalformed, "the other side sent a frame that is too long");
  if (received.size() < kHead + size) return std::nullopt;
  Frame frame{.kind = static_cast<FrameKind>(received[0]), .bytes = received.substr(kHead, size)};
  received.erase(0, kHead + size);
  return frame;
}

std::string joined(const std::vector<std::string>& words) {
  std::string bytes;
  for (const std::string& word : words) bytes.append(word).push_back('\0');
  return bytes;
}

std::vector<std::string> divided(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() != '\0') throw Error(ErrorCode::kMalformed, "a command whose last word is cut");
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\0', begin);
    words.emplace_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}   // namespace kedge::host
