// What kedge host-exec and kedge host-agent say to each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::host {

enum class FrameKind : char {
  kCommand = 'C',   // to the agent, first and once: the token and the words, each ended by a zero byte
  kInput = 'I',     // to the agent: bytes for stdin; none: its end
  kOutput = 'O',    // from the agent: of stdout
  kErrors = 'E',    // of stderr
  kExit = 'X',      // the last: one byte, the exit status, or 128 and the signal
  kRefusal = 'R',   // the last: why nothing was started
  kBeat = 'B',      // both, every second: the other side is there
};

struct Frame {
  FrameKind kind;
  std::string bytes;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// A letter, the length in 4 bytes, the highest first, and the bytes: at most kMostFrameBytes.
inline constexpr std::size_t kMostFrameBytes = std::size_t{1} << 18;
std::string encoded(FrameKind kind, std::string_view bytes);

// The first frame of `received`, which loses it; none: more has to come. Errors: kMalformed for what is no frame.
std::optional<Frame> take_frame(std::string& received);

// As a frame of kCommand has them. Errors of the second: kMalformed.
std::string joined(const std::vector<std::string>& words);
std::vector<std::string> divided(std::string_view bytes);

}   // namespace kedge::host
