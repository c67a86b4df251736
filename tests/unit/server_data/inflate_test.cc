// Decoding gzip: any cut of the stream gives the same text, and no damage passes.
#include "server/data/inflate.h"

#include <gtest/gtest.h>

#include "tests/unit/server_data/gzip.h"

namespace kedge::server {
namespace {

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919 % 1000) + ",";
  return text;
}

// Fed in pieces of so many bytes; "?" in front when the stream has not ended.
std::string inflate_in_pieces(const std::string& packed, std::size_t piece) {
  std::string text;
  Inflater inflater;
  for (std::size_t at = 0; at < packed.size(); at += piece)
    inflater.feed(std::string_view(packed).substr(at, piece), [&](std::string_view more) { text.append(more); });
  return inflater.complete() ? text : "?" + text;
}

TEST(Inflate, GivesTheSameForEveryCut) {
  const std::string text = "a short text, a short text", packed = gzip(text);
  for (std::size_t piece = 1; piece <= packed.size(); ++piece) EXPECT_EQ(inflate_in_pieces(packed, piece), text) << piece;
}

TEST(Inflate, ReadsLongStreamsOfEveryLevel) {
  const std::string text = long_text();
  for (const int level : {Z_NO_COMPRESSION, Z_BEST_SPEED, Z_BEST_COMPRESSION})
    for (const std::size_t piece : {std::size_t{1000}, std::size_t{1} << 30})
      EXPECT_TRUE(inflate_in_pieces(gzip(text, level), piece) == text) << level << " " << piece;
}

TEST(Inflate, TakesSeveralMembersForOneStream) {
  const std::string packed = gzip("one ") + gzip("") + gzip("two");
  for (std::size_t piece = 1; piece <= packed.size(); ++piece) EXPECT_EQ(inflate_in_pieces(packed, piece), "one two") << piece;
}

TEST(Inflate, NoticesEveryEarlyEnd) {
  const std::string packed = gzip("a short text, a short text");
  for (std::size_t size = 0; size < packed.size(); ++size) EXPECT_EQ(inflate_in_pieces(packed.substr(0, size), 5).front(), '?') << size;
}

TEST(Inflate, NoticesDamageInDataChecksumAndLength) {
  const std::string packed = gzip(long_text());
  for (const std::size_t from_end : {packed.size() / 2, std::size_t{8}, std::size_t{5}, std::size_t{4}, std::size_t{1}}) {
    std::string damaged = packed;
    damaged[packed.size() - from_end] = static_cast<char>(damaged[packed.size() - from_end] ^ 0x10);
    EXPECT_THROW(inflate_text(damaged), InflateError) << from_end;
  }
}

TEST(Inflate, RefusesWhatIsNoGzip) {
  EXPECT_THROW(inflate_text("plain text"), InflateError);
  EXPECT_THROW(inflate_text(gzip("text") + "garbage behind it"), InflateError);
  EXPECT_THROW(inflate_text(""), InflateError);
}

// So many zeros, fed in pieces; how many bytes came out before it was refused.
std::uint64_t inflated_zeros(std::size_t zeros) {
  const std::string zipped = gzip(std::string(zeros, '\0'));
  Inflater inflater;
  std::uint64_t made = 0;
  for (std::size_t at = 0; at < zipped.size(); at += 1000)
    inflater.feed(std::string_view(zipped).substr(at, 1000), [&](std::string_view piece) { made += piece.size(); });
  return made;
}

TEST(Inflater, RefusesWhatBecomesFarLargerThanItIs) {
  constexpr std::size_t kFree = std::size_t{64} << 20;
  EXPECT_EQ(inflated_zeros(kFree), kFree);
  EXPECT_THROW(inflated_zeros(2 * kFree), InflateError);
}

}  // namespace
}  // namespace kedge::server
