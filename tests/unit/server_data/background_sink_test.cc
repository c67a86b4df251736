// Pieces arrive in order in the other thread, and its failures come back.
#include "server/data/background_sink.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace kedge::server {
namespace {

TEST(BackgroundSink, PassesEveryPieceOnInOrder) {
  std::string seen, sent;
  BackgroundSink sink([&](std::string_view piece) { seen += piece; });
  for (int i = 0; i < 1000; ++i) {
    sent += std::to_string(i);
    sink.push(std::to_string(i));
  }
  sink.finish();
  EXPECT_EQ(seen, sent);
}

TEST(BackgroundSink, ReportsAFailureOfTheConsumer) {
  const auto push_many_and_finish = [] {
    BackgroundSink sink([](std::string_view) { throw std::runtime_error("disk full"); });
    for (int i = 0; i < 1000; ++i) sink.push("x");
    sink.finish();
  };
  EXPECT_THROW(push_many_and_finish(), std::runtime_error);
}

TEST(BackgroundSink, MayBeAbandoned) {
  std::string seen;
  {
    BackgroundSink sink([&](std::string_view piece) { seen += piece; });
    sink.push("a");
  }
  EXPECT_LE(seen.size(), 1u);
}

}  // namespace
}  // namespace kedge::server
