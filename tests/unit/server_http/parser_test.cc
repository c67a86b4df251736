// The parser behind the gate, fed in pieces of every size.
#include "server/http/parser.h"

#include <gtest/gtest.h>

#include "server/http/refusal.h"

namespace kedge::server::http {
namespace {

constexpr std::string_view kHead = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(RequestParser, ReadsAChunkedBodyThatComesByteByByte) {
  for (const std::string_view body :
       {"0\r\n\r\n", "00\r\n\r\n", "1\r\n0\r\n0\r\n\r\n", "4\r\n0000\r\n0\r\nA: b\r\n\r\n", "3\r\nabc\r\n000\r\n\r\n"}) {
    const Limits limits;
    RequestParser parser(limits);
    ASSERT_EQ(parser.put(kHead), kHead.size());
    std::string waiting;
    for (const char byte : body) {
      EXPECT_FALSE(parser.done()) << body;
      waiting += byte;
      waiting.erase(0, parser.put(waiting));
    }
    EXPECT_TRUE(parser.done()) << body;
    EXPECT_EQ(waiting, "");
  }
}

// Beast would wait for the quote's end behind the line.
TEST(RequestParser, RefusesAnExtensionWithoutTheEndOfItsQuoteHoweverItComes) {
  constexpr std::string_view kBody = "3\r\nabc\r\n4f;a=\"\\\"\r\nabc";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, kBody.size()}) {
    const Limits limits;
    RequestParser parser(limits);
    ASSERT_EQ(parser.put(kHead), kHead.size());
    int status = 0;
    std::string waiting;
    try {
      for (std::size_t at = 0; at < kBody.size(); at += step) {
        waiting += kBody.substr(at, step);
        waiting.erase(0, parser.put(waiting));
      }
    } catch (const Refusal& refusal) {
      status = refusal.status;
    }
    EXPECT_EQ(status, 400) << step;
  }
}

TEST(RequestParser, ReadsAnExtensionInQuotes) {
  const Limits limits;
  RequestParser parser(limits);
  parser.put(kHead);
  std::string waiting;
  for (const char byte : std::string_view("3;a=\"b;\\\"c\"\r\nabc\r\n0\r\n\r\n")) {
    waiting += byte;
    waiting.erase(0, parser.put(waiting));
  }
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.request().body, "abc");
}

}   // namespace
}   // namespace kedge::server::http
