// The HTTP server over real sockets, with handlers that do little.
#include <gtest/gtest.h>

#include <atomic>

#include "schemas/error.h"
#include "server/http/peer.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace kedge::server::http {
namespace {

using tests::HttpConnection;
using tests::HttpReply;
using tests::RunningServer;
using namespace std::chrono_literals;

net::awaitable<Response> echo(Request request) {
  Response response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.path + " " + request.body;
  co_return response;
}

net::awaitable<Response> fail(Request) {
  throw std::runtime_error("secret path");
  co_return Response{};
}

net::awaitable<void> count_up(BodyWriter& out) {
  for (int i = 0; i < 3; ++i) co_await out.write(std::to_string(i) + "\n");
}

net::awaitable<Response> numbers(Request) {
  Response response;
  response.content_type = "text/plain";
  response.stream = count_up;
  co_return response;
}

net::awaitable<Response> headers(Request request) {
  Response response;
  for (const auto& [name, value] : request.fields) response.body += name + "=" + value + ";";
  response.fields.emplace_back("X-Evil", "a\r\nSet-Cookie: b");
  co_return response;
}

std::vector<Route> sample_routes() {
  return {{"GET", "/echo", echo},
          {"POST", "/echo", echo},
          {"GET", "/fail", fail},
          {"GET", "/numbers", numbers},
          {"POST", "/headers", headers}};
}

TEST(HttpServer, AnswersOneRequestAfterAnotherOnAConnection) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  EXPECT_EQ(client.get("/echo").body, "GET /echo ");
  const HttpReply reply = client.request("POST", "/echo", "hello");
  EXPECT_EQ(reply.body, "POST /echo hello");
  EXPECT_FALSE(reply.field("Date").empty());
  EXPECT_EQ(reply.field("Connection"), "");
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  std::string bytes;
  for (int i = 0; i < 50; ++i)
    bytes += "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n" +
             std::to_string(10 + i) + "\r\n0\r\n\r\nGET /numbers HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_TRUE(client.send(bytes));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read_reply().body, "POST /echo " + std::to_string(10 + i));
    EXPECT_EQ(client.read_reply().body, "0\n1\n2\n");
  }
}

TEST(HttpServer, ReadsRequestsThatComeByteByByte) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  for (const char c : std::string(
           "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n"))
    ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_EQ(client.read_reply().body, "POST /echo abc");
}

TEST(HttpServer, AnswersHttp10WithoutChunksAndCloses) {
  RunningServer server({}, sample_routes());
  HttpConnection echoed(server.port());
  ASSERT_TRUE(echoed.send("POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi"));
  const HttpReply reply = echoed.read_reply();
  EXPECT_EQ(reply.body, "POST /echo hi");
  EXPECT_EQ(reply.field("Connection"), "close");
  EXPECT_TRUE(echoed.ended());
  HttpConnection streamed(server.port());
  ASSERT_TRUE(streamed.send("GET /numbers HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  const std::string head = streamed.read_head();
  EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Length"), std::string::npos) << head;
  EXPECT_EQ(streamed.read_until("2\n"), "0\n1\n2\n");
  EXPECT_TRUE(streamed.ended());
}

TEST(HttpServer, ComparesTheHostOfHttp10WithItsNamesWhereThereIsOne) {
  ServerOptions options;
  options.hosts = HostRules(std::vector<std::string>{});
  RunningServer server(std::move(options), sample_routes());
  for (const auto& [fields, status] : {std::pair{"", 200}, std::pair{"Host: localhost\r\n", 200}, std::pair{"Host: evil.example\r\n", 421}}) {
    HttpConnection client(server.port());
    ASSERT_TRUE(client.send("GET /echo HTTP/1.0\r\n" + std::string(fields) + "\r\n"));
    EXPECT_EQ(client.read_reply().status, status) << fields;
  }
}

TEST(HttpServer, DropsTrailers) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  ASSERT_TRUE(
      client.send("POST /headers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n1\r\na\r\n0\r\nAuthorization: me\r\n\r\n"));
  EXPECT_EQ(client.read_reply().body, "Host=a;Transfer-Encoding=chunked;");
}

TEST(HttpServer, KeepsAHandlersFieldOnOneLine) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  const HttpReply reply = client.request("POST", "/headers");
  EXPECT_EQ(reply.field("X-Evil"), "aSet-Cookie: b");
  EXPECT_EQ(reply.field("Set-Cookie"), "");
}

TEST(HttpServer, DistinguishesAWrongMethodFromAWrongPath) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  EXPECT_EQ(client.get("/nothing").status, 404);
  const HttpReply reply = client.request("DELETE", "/echo");
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.field("Allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  EXPECT_EQ(client.get("/echo").status, 200) << "the connection stays open";
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  const HttpReply head = client.request("HEAD", "/echo");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Length"), std::to_string(std::string("HEAD /echo ").size()));
  EXPECT_EQ(client.request("HEAD", "/numbers").status, 200);
  EXPECT_EQ(client.get("/echo").body, "GET /echo ") << "nothing of a body was left over";
}

TEST(HttpServer, AnswersOptions) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  const HttpReply reply = client.request("OPTIONS", "/numbers");
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.field("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.request("OPTIONS", "*").status, 204);
}

TEST(HttpServer, HidesWhatWentWrongInsideFromTheClient) {
  std::atomic<int> reports = 0;
  RunningServer server(
      {.report = [&](std::string_view text) { reports += text.find("secret path") != text.npos; }},
      sample_routes());
  HttpConnection client(server.port());
  const HttpReply reply = client.get("/fail");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body.find("secret"), std::string::npos) << reply.body;
  EXPECT_EQ(reports, 1);
}

TEST(HttpServer, EchoesARequestIdOnlyIfItIsPlain) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  EXPECT_EQ(client.get("/echo", "X-Request-Id: abc-1.2\r\n").field("X-Request-Id"), "abc-1.2");
  const std::string made = client.get("/echo", "X-Request-Id: a\"b\r\n").field("X-Request-Id");
  EXPECT_EQ(made.find('"'), std::string::npos);
  EXPECT_NE(made, client.get("/echo").field("X-Request-Id"));
}

TEST(HttpServer, ClosesWhenAskedTo) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  EXPECT_EQ(client.get("/echo", "Connection: close\r\n").field("Connection"), "close");
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, SaysContinueBeforeTheBodyComes) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  ASSERT_TRUE(
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_reply().status, 100);
  ASSERT_TRUE(client.send("ok"));
  EXPECT_EQ(client.read_reply().body, "POST /echo ok");
}

TEST(HttpServer, RefusesABodyWithoutAHandlerBeforeItIsSent) {
  RunningServer server({}, sample_routes());
  HttpConnection client(server.port());
  ASSERT_TRUE(
      client.send("POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_reply().status, 404);
}

TEST(HttpServer, FinishesARequestInProgressWhenItStops) {
  std::atomic<bool> waiting = false;
  const Handler until_stop = [&waiting](Request request) -> net::awaitable<Response> {
    const auto peer = request.peer;
    auto* flag = &waiting;
    return [](std::shared_ptr<Peer> peer, std::atomic<bool>* flag) -> net::awaitable<Response> {
      *flag = true;
      while (!peer->stopping()) co_await peer->wait_until(Peer::Clock::now() + 20s);
      Response response;
      response.body = "done";
      co_return response;
    }(peer, flag);
  };
  RunningServer server({}, {{"GET", "/wait", until_stop}});
  HttpConnection idle(server.port()), client(server.port());
  ASSERT_TRUE(client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"));
  while (!waiting) std::this_thread::yield();
  server.stop();
  const HttpReply reply = client.read_reply();
  EXPECT_EQ(reply.body, "done");
  EXPECT_EQ(reply.field("Connection"), "close");
  EXPECT_TRUE(idle.ended());
}

TEST(HttpServer, SaysWhyAnAddressCannotBeUsed) {
  RunningServer first({}, {});
  try {
    Server second({.port = first.port()}, Router({}));
    FAIL() << "the port is taken";
  } catch (const schema::Error& e) {
    EXPECT_EQ(e.code, schema::ErrorCode::kUnavailable);
    EXPECT_NE(e.message.find(std::to_string(first.port())), std::string::npos) << e.message;
  }
}

}  // namespace
}  // namespace kedge::server::http
