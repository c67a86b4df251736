// The strict gate: what it lets pass and what it refuses, without a socket.
#include "server/http/gate.h"

#include <gtest/gtest.h>

#include <ostream>

#include "server/http/refusal.h"

namespace kedge::server::http {
namespace {

Framing pass(std::string_view head) {
  return check_head(head, Limits{});
}

// 0 if it passes.
int status_of(std::string_view head, const Limits& limits = {}) {
  try {
    check_head(head, limits);
    return 0;
  } catch (const Refusal& refusal) {
    return refusal.status;
  }
}

TEST(Gate, PassesAnOrdinaryRequest) {
  const Framing framing = pass("GET /livez?a=b HTTP/1.1\r\nHost: localhost:5334\r\nAccept: */*\r\n\r\n");
  EXPECT_FALSE(framing.has_body());
  EXPECT_FALSE(framing.close);
}

TEST(Gate, ReadsTheFraming) {
  const Framing sized =
      pass("POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 12\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(sized.content_length, 12u);
  EXPECT_TRUE(sized.expects_continue);
  const Framing chunked =
      pass("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\nConnection: x, Close\r\n\r\n");
  EXPECT_TRUE(chunked.chunked);
  EXPECT_TRUE(chunked.close);
}

TEST(Gate, PassesHttp10WithAndWithoutHostAndClosesBehindIt) {
  for (const char* fields : {"", "Host: a\r\n", "Host: a\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n"}) {
    const Framing framing = pass("POST / HTTP/1.0\r\n" + std::string(fields) + "Content-Length: 2\r\n\r\n");
    EXPECT_TRUE(framing.is_http_1_0);
    EXPECT_TRUE(framing.close);
    EXPECT_FALSE(framing.expects_continue);
    EXPECT_EQ(framing.content_length, 2u);
  }
  EXPECT_FALSE(pass("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_http_1_0);
}

TEST(Gate, PassesIpv6HostsAndOptionsOfEverything) {
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: [::1]:5334\r\n\r\n"), 0);
}

TEST(Gate, CountsFieldsAndTargetBytes) {
  const Limits limits{.target_bytes = 10, .fields = 2};
  EXPECT_EQ(status_of("GET /123456789 HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n", limits), 0);
  EXPECT_EQ(status_of("GET /1234567890 HTTP/1.1\r\nHost: a\r\n\r\n", limits), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD: e\r\n\r\n", limits), 431);
}

struct Case {
  const char* name;
  std::string head;
  int status;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class GateRefuses : public testing::TestWithParam<Case> {};

TEST_P(GateRefuses, WithTheRightStatus) {
  EXPECT_EQ(status_of(GetParam().head), GetParam().status);
}

std::string with(const std::string& fields) {
  return "POST /v1/jobs HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
std::string line(const std::string& request_line) {
  return request_line + "\r\nHost: a\r\n\r\n";
}

const Case kCases[] = {
    {"CodingGzip", with("Transfer-Encoding: gzip\r\n"), 501},
    {"CodingUnknown", with("Transfer-Encoding: xchunked\r\n"), 501},
    {"CodingChunkedIdentity", with("Transfer-Encoding: chunked, identity\r\n"), 501},
    {"CodingTwice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"CodingAndLength", with("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"), 400},
    {"LengthAndCoding", with("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"CodingGzipAndLength", with("Transfer-Encoding: gzip\r\nContent-Length: 2\r\n"), 501},
    {"LengthTwice", with("Content-Length: 2\r\nContent-Length: 2\r\n"), 400},
    {"LengthList", with("Content-Length: 2, 2\r\n"), 400},
    {"LengthPlus", with("Content-Length: +2\r\n"), 400},
    {"LengthMinus", with("Content-Length: -1\r\n"), 400},
    {"LengthHex", with("Content-Length: 0x10\r\n"), 400},
    {"LengthEmpty", with("Content-Length:\r\n"), 400},
    {"LengthOverflow", with("Content-Length: 18446744073709551616\r\n"), 400},
    {"NoHost", "GET / HTTP/1.1\r\n\r\n", 400},
    {"TwoHosts", with("Host: b\r\n"), 400},
    {"HostWithPath", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
    {"HostEmpty", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
    {"Folded", with("X: a\r\n b\r\n"), 400},
    {"SpaceBeforeColon", with("X : a\r\n"), 400},
    {"NoColon", with("X\r\n"), 400},
    {"EmptyName", with(": a\r\n"), 400},
    {"Underscore", with("Content_Length: 2\r\n"), 400},
    {"NulInValue", with(std::string("X: a\0b\r\n", 8)), 400},
    {"CrInValue", with("X: a\rb\r\n"), 400},
    {"BareLf", "GET / HTTP/1.1\nHost: a\n\r\n\r\n", 400},
    {"Http10Chunked", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"Http10TwoHosts", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400},
    {"Http12", line("GET / HTTP/1.2"), 505},
    {"Http20", line("PRI * HTTP/2.0"), 505},
    {"NoVersion", line("GET /"), 400},
    {"LowerCaseVersion", line("GET / http/1.1"), 400},
    {"TwoSpaces", line("GET  / HTTP/1.1"), 400},
    {"TabInTarget", line("GET /\ta HTTP/1.1"), 400},
    {"HighByteInTarget", line("GET /\xc3\xa4 HTTP/1.1"), 400},
    {"Fragment", line("GET /a#b HTTP/1.1"), 400},
    {"AbsoluteTarget", line("GET http://a/ HTTP/1.1"), 400},
    {"UnknownMethod", line("BREW / HTTP/1.1"), 501},
    {"Connect", line("CONNECT a:80 HTTP/1.1"), 501},
    {"LeadingEmptyLine", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"UnknownExpectation", with("Expect: 200-ok\r\n"), 417},
    {"CodedBody", with("Content-Encoding: gzip\r\nContent-Length: 2\r\n"), 415},
    {"CodedTwice", with("Content-Encoding: identity\r\nContent-Encoding: br\r\nContent-Length: 2\r\n"), 415},
};

INSTANTIATE_TEST_SUITE_P(Hostile, GateRefuses, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kedge::server::http
