// Server-sent events out of bytes, as the standard reads them.
#include "client/sdk/event_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>


namespace kedge {
namespace {

using testing::ElementsAre;

// "event|data" of each frame, where the bytes arrive `step` at a time.
std::vector<std::string> frames(std::string_view bytes, std::size_t step = 1) {
  EventFrames frames;
  std::vector<std::string> all;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    frames.put(bytes.substr(at, step));
    while (auto frame = frames.next()) all.push_back(frame->event + "|" + frame->data);
  }
  return all;
}

TEST(EventFrames, AreTheSameHoweverTheBytesArrive) {
  const std::string text = "\xEF\xBB\xBFretry: 2000\r\n\r\nid: 1\r\nevent: state\r\ndata: {\"a\":1}\r\n\r\n:\n\nid: 2\ndata:b\ndata: c\n\n";
  for (std::size_t step = 1; step <= text.size(); ++step)
    EXPECT_THAT(frames(text, step), ElementsAre("state|{\"a\":1}", "|b\nc")) << step;
}

TEST(EventFrames, EndTheirLinesInThreeWays) {
  EXPECT_THAT(frames("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\n\n"), ElementsAre("|a", "|b", "|c", "|d"));
}

TEST(EventFrames, WithoutDataAreNone) {
  EXPECT_THAT(frames("event: shutdown\n\ndata: a\n\n"), ElementsAre("|a"));   // and name nothing that follows
}

TEST(EventFrames, ThatAreNotWholeAreNone) { EXPECT_THAT(frames("data: a\n\ndata: b\n"), ElementsAre("|a")); }

TEST(EventFrames, KnowTheirFieldsByWholeNames) {
  EXPECT_THAT(frames("dataset: x\ndata\ndata:  a\n data: b\nevents: c\n\n"), ElementsAre("|\n a"));
}

}  // namespace
}  // namespace kedge
