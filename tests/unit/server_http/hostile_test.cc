// Clients that mean no good, over real sockets: the connection ends, memory stays bounded, the server goes
// on.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "server/http/server.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace kedge::server::http {
namespace {

using tests::HttpConnection;
using tests::RunningServer;
using namespace std::chrono_literals;

net::awaitable<Response> size_of_body(Request request) {
  Response response;
  response.body = std::to_string(request.body.size());
  co_return response;
}

const std::vector<Route> kRoutes{{"POST", "/size", size_of_body}, {"GET", "/size", size_of_body}};
const std::string kPost = "POST /size HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

ServerOptions small() {
  ServerOptions options;
  options.limits.body_bytes = 100'000;
  options.limits.body_bytes_total = 150'000;
  options.limits.chunks = 1000;
  options.deadlines = {
      .header = 200ms, .idle = 20s, .body_grace = 200ms, .write_stall = 400ms, .linger = 200ms, .drain = 2s};
  return options;
}

// Sends the bytes on a new connection; the status of the answer, 0 if the connection ended without one. It
// must end.
int verdict(std::uint16_t port, const std::string& bytes) {
  HttpConnection client(port);
  client.send(bytes);
  const int status = client.read_reply().status;
  EXPECT_TRUE(status == 200 || client.ended());
  return status;
}

TEST(HostileClient, IsRefusedAndItsConnectionClosed) {
  RunningServer server(small(), kRoutes);
  const std::pair<std::string, int> cases[] = {
      {kPost + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {kPost + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400},
      {"POST /size HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"GET /size HTTP/1.1\r\n\r\n", 400},
      {kPost + "X: a\r\n b: c\r\n\r\n", 400},
      {kPost + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400},
      {"garbage\r\n\r\n", 400},
      {kPost + "X: " + std::string(9000, 'a'), 431},
      {kChunked + "zz\r\n", 400},
      {kChunked + "ffffffffffffffffff\r\n", 400},
      {kChunked + "-1\r\n", 400},
      {kChunked + "2\r\nabc\r\n0\r\n\r\n", 400},
      {kChunked + "1;" + std::string(1000, 'x') + "\r\na\r\n0\r\n\r\n", 400},
      {kChunked + "1;" + std::string(40'000, 'x'), 400},
      {kChunked + "0\r\nX: " + std::string(40'000, 'x'), 400},
  };
  for (const auto& [bytes, status] : cases)
    EXPECT_EQ(verdict(server.port(), bytes), status) << bytes.substr(0, 200);
  EXPECT_EQ(verdict(server.port(), kPost + "Content-Length: 2\r\n\r\nab"), 200) << "the server continues";
}

TEST(HostileClient, IsRefusedAnAnnouncedBodyThatIsTooLargeBeforeItIsSent) {
  RunningServer server(small(), kRoutes);
  EXPECT_EQ(verdict(server.port(), kPost + "Content-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n"),
            413);
}

TEST(HostileClient, IsCutOffInAChunkedBodyThatIsTooLarge) {
  RunningServer server(small(), kRoutes);
  EXPECT_EQ(verdict(server.port(), kChunked + "186a1\r\n" + std::string(100'001, 'x') + "\r\n0\r\n\r\n"),
            413);
  std::string many = kChunked;
  for (int i = 0; i < 5000; ++i) many += "1\r\nx\r\n";
  EXPECT_EQ(verdict(server.port(), many), 400);
}

TEST(HostileClient, CannotSendOnForeverAfterARefusal) {
  RunningServer server(small(), kRoutes);
  HttpConnection client(server.port());
  ASSERT_TRUE(client.send(kPost + "Content-Length: 1073741824\r\n\r\n"));
  const std::string block(1 << 20, 'x');
  int sent = 0;
  while (sent < 1024 && client.send(block)) ++sent;
  EXPECT_LT(sent, 1024);
}

TEST(HostileClient, GetsTheAnswerAlthoughItSendsAllBeforeItReads) {
  ServerOptions options = small();
  options.deadlines.linger = 20s;
  RunningServer server(options, kRoutes);
  HttpConnection client(server.port());
  ASSERT_TRUE(client.send(kPost + "Content-Length: 300000\r\n\r\n" + std::string(300'000, 'x')));
  EXPECT_EQ(client.read_reply().status, 413);
}

TEST(HostileClient, GetsTheAnswerThoughItsBodyIsNotRead) {
  ServerOptions options = small();
  options.deadlines.linger = 1s;   // then it is closed, and the sender ends
  RunningServer server(options, kRoutes);
  HttpConnection client(server.port());
  std::jthread sender([&] {
    const std::string block(1 << 20, 'x');
    client.send(kPost + "Content-Length: 1073741824\r\n\r\n");
    while (client.send(block)) {
    }
  });
  EXPECT_EQ(client.read_reply().status, 413);
}

TEST(HostileClient, CannotFillTheMemoryWithManyBodies) {
  RunningServer server(small(), kRoutes);
  HttpConnection first(server.port());
  ASSERT_TRUE(first.send(kPost + "Content-Length: 100000\r\n\r\n" + std::string(90'000, 'x')));
  const std::string second = kPost + "Content-Length: 100000\r\n\r\n" + std::string(90'000, 'x');
  int status = 200;
  HttpConnection other(server.port());
  ASSERT_TRUE(other.send(second));
  status = other.read_reply().status;
  EXPECT_TRUE(status == 503 || first.read_reply().status == 503);
}

TEST(HostileClient, LosesItsConnectionWhenTheHeaderIsSlow) {
  RunningServer server(small(), kRoutes);
  HttpConnection client(server.port());
  const auto start = std::chrono::steady_clock::now();
  const auto patience = start + 10s;
  client.send("GET /size HTTP/1.1\r\nHost: a\r\n");
  // A field now and then does not help: the deadline is absolute.
  while (std::chrono::steady_clock::now() < patience && client.send("X: y\r\n"))
    std::this_thread::sleep_for(20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_EQ(client.read_reply().status, 0);
}

TEST(HostileClient, LosesItsConnectionWhenTheBodyIsSlow) {
  RunningServer server(small(), kRoutes);
  HttpConnection client(server.port());
  client.send(kPost + "Content-Length: 1000\r\n\r\nabc");
  EXPECT_TRUE(client.ended());
}

net::awaitable<void> flood(BodyWriter& out) {
  const std::string piece(64 * 1024, 'x');
  while (true) co_await out.write(piece);
}

net::awaitable<Response> endless(Request) {
  Response response;
  response.stream = flood;
  co_return response;
}

TEST(HostileClient, LosesItsConnectionWhenItReadsNothing) {
  RunningServer server(small(), {{"GET", "/endless", endless}});
  HttpConnection client(server.port());
  ASSERT_TRUE(client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"));
  // The server's side is closed once its writes stall; until then sends are taken.
  const auto patience = std::chrono::steady_clock::now() + 15s;
  while (std::chrono::steady_clock::now() < patience && client.send("x")) std::this_thread::sleep_for(20ms);
  EXPECT_LT(std::chrono::steady_clock::now(), patience);
}

TEST(HostileClient, IsDroppedBeyondTheNumberOfConnections) {
  ServerOptions options = small();
  options.limits.connections = 2;
  RunningServer server(options, kRoutes);
  HttpConnection first(server.port()), second(server.port());
  EXPECT_EQ(first.get("/size").status, 200);
  EXPECT_EQ(second.get("/size").status, 200);
  HttpConnection third(server.port());
  EXPECT_TRUE(third.ended());
}

}  // namespace
}  // namespace kedge::server::http
