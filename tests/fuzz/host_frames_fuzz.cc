// Reads any bytes as what a peer of kedge host-agent sends: the same frames, and the same refusal, however the bytes
// arrive; each within its bound, and the same bytes when it is encoded again. A command is divided and joined again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "client/host/frames.h"
#include "client/host/words.h"
#include "schemas/error.h"

namespace {

using namespace kedge::host;

struct Taken {
  std::vector<Frame> frames;
  std::string rest, refusal;
  friend bool operator==(const Taken&, const Taken&) = default;
};

Taken taken(std::string_view bytes, std::size_t step) {
  Taken all;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      all.rest += bytes.substr(at, step);
      while (auto frame = take_frame(all.rest)) all.frames.push_back(*std::move(frame));
    }
  } catch (const kedge::schema::Error& error) {
    all.refusal = error.message;
    all.rest.clear();   // the connection ends; how much had arrived differs
  }
  return all;
}

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_command(const std::string& bytes) {
  try {
    expect(joined(divided(bytes)) == bytes, "a command is another one when it is joined again");
  } catch (const kedge::schema::Error&) {   // refused, as it should be
  }
  try {
    for (const std::string& word : shell_words(bytes))
      expect(word.size() <= bytes.size(), "a word is longer than the line");
  } catch (const kedge::schema::Error&) {
  }
}

}   // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Taken whole = taken(bytes, size + 1);
  for (const std::size_t step : {1, 7})
    expect(taken(bytes, step) == whole, "the frames depend on how the bytes arrive");
  std::string again;
  for (const Frame& frame : whole.frames) {
    expect(frame.bytes.size() <= kMostFrameBytes, "a frame is longer than its bound");
    again += encoded(frame.kind, frame.bytes);
    if (frame.kind == FrameKind::kCommand) check_command(frame.bytes);
  }
  again += whole.rest;
  expect(!whole.refusal.empty() ? bytes.starts_with(again) : bytes == again,
         "frames are others when they are encoded again");
  return 0;
}
