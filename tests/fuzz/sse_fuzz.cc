// Reads any bytes as a stream of server-sent events, as the client does: the same frames however they arrive, and each an event
// or refused.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "client/sdk/event_frames.h"
#include "schemas/codec.h"

namespace {

std::vector<std::string> frames(std::string_view bytes, std::size_t step) {
  kedge::EventFrames frames;
  std::vector<std::string> all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    frames.put(bytes.substr(at, step));
    while (auto frame = frames.next()) all.push_back(frame->event + '\0' + frame->data);
  }
  return all;
}

}   // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = frames(bytes, size + 1);
  for (const std::size_t step : {1, 5}) {
    if (frames(bytes, step) == whole) continue;
    std::fputs("the frames depend on how the bytes arrive\n", stderr);
    std::abort();
  }
  for (const std::string& frame : whole) {
    try {
      kedge::schema::from_json<kedge::schema::Event>(frame.substr(frame.find('\0') + 1));
    } catch (const kedge::schema::Error&) {   // refused, as it should be
    }
  }
  return 0;
}
