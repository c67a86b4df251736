// The parser behind the gate, fed in pieces of every size.
#include "server/http/parser.h"

#include <gtest/gtest.h>

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

}   // namespace
}   // namespace kedge::server::http
