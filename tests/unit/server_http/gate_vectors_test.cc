// Every request of gate_vectors.txt over a real connection: the answer, and the proof that no second request gets through.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "server/http/server.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace kedge::server::http {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kSmuggled = "GET /canary HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kMark = "{smuggled}";

struct Vector {
  int status;
  std::string name, bytes;
  bool smuggles = false;
};

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    if (kind == 'x') {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += kind == 'r' ? '\r' : kind == 'n' ? '\n' : '\t';
    }
  }
  return out;
}

std::vector<Vector> load() {
  std::ifstream file("tests/unit/server_http/gate_vectors.txt");
  std::vector<Vector> vectors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    Vector vector;
    std::istringstream words(line);
    words >> vector.status >> vector.name;
    std::string bytes = line.substr(line.find(vector.name) + vector.name.size() + 1);
    vector.smuggles = bytes.ends_with(kMark);
    if (vector.smuggles) bytes.resize(bytes.size() - kMark.size());
    vector.bytes = unescaped(bytes) + std::string(vector.smuggles ? kSmuggled : "");
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

struct GateVectors : testing::Test {
  static ServerOptions options() {
    ServerOptions options;
    options.deadlines.linger = 100ms;   // what a refused client still sends is not waited for
    options.limits.upload_bytes = options.limits.body_bytes = 1 << 20;
    return options;
  }
  std::atomic<int> canaries = 0;
  tests::RunningServer server{options(),
                              {{"GET", "/size", answer}, {"POST", "/size", answer}, {"GET", "/canary", [this](Request) { return canary(); }}}};

  static net::awaitable<Response> answer(Request request) {
    Response response;
    response.body = std::to_string(request.body.size());
    co_return response;
  }
  net::awaitable<Response> canary() {
    ++canaries;
    co_return Response{};
  }
};

TEST_F(GateVectors, GetTheAnswerTheyMustAndNothingBehindThemIsServed) {
  const std::vector<Vector> vectors = load();
  ASSERT_GE(vectors.size(), 100u);
  int served = 0;
  for (const Vector& vector : vectors) {
    tests::HttpConnection client(server.port());
    client.send(vector.bytes);
    EXPECT_EQ(client.read_reply().status, vector.status) << vector.name;
    const bool closes = vector.bytes.substr(0, vector.bytes.find('\r')).ends_with("HTTP/1.0");
    if (vector.status == 200 && !closes) {
      served += vector.smuggles;
      if (vector.smuggles) EXPECT_EQ(client.read_reply().status, 200) << vector.name;
      EXPECT_EQ(client.get("/size").status, 200) << vector.name << ": nothing of it was left over";
    } else {
      EXPECT_TRUE(client.ended()) << vector.name << ": a second answer came, or the connection stayed open";
    }
    EXPECT_EQ(canaries, served) << vector.name;
  }
  EXPECT_GT(served, 5) << "requests that are served must be seen to be";
}

TEST_F(GateVectors, GetTheSameAnswerByteByByte) {
  for (const Vector& vector : load()) {
    if (vector.bytes.size() > 2000) continue;   // their point is their length
    tests::HttpConnection client(server.port());
    for (const char byte : vector.bytes)
      if (!client.send({&byte, 1})) break;
    EXPECT_EQ(client.read_reply().status, vector.status) << vector.name;
  }
}

}  // namespace
}  // namespace kedge::server::http
