// Tokens: what is stored, which caller may call what, limits, revocation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

#include "crypto/digest.h"
#include "schemas/error.h"
#include "server/auth/authenticator.h"
#include "server/http/peer.h"
#include "server/http/server.h"
#include "tests/support/http_client.h"

namespace kedge::server::auth {
namespace {

using http::Access;
using schema::Error;
using schema::ErrorCode;
using testing::HasSubstr;

const http::net::ip::address kPeer = http::net::ip::make_address("192.0.2.1");
const http::net::ip::address kOther = http::net::ip::make_address("192.0.2.2");

struct Tokens : testing::Test {
  Tokens() {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
  }
  AuthOptions options() const { return {.data_dir = directory}; }
  std::string create(const char* scopes, const char* tenant = "alice", std::int64_t expires = 0) {
    return TokenStore(directory).create({.tenant = tenant, .scopes = parse_scopes(scopes), .expires = expires});
  }
  const std::filesystem::path directory =
      testing::TempDir() + "kedge_tokens_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

http::Request with(const std::string& authorization) {
  http::Request request;
  if (!authorization.empty()) request.fields.emplace_back("Authorization", authorization);
  return request;
}
http::Request bearer(const std::string& token) { return with("Bearer " + token); }

void ignore(std::string_view) {}

// "OK", or the code of the error.
std::string verdict(Authenticator& authenticator, const http::Request& request, Access needed, const http::net::ip::address& peer = kPeer) {
  try {
    authenticator.admit(request, peer, "", needed);
    return "OK";
  } catch (const Error& error) {
    return std::string(schema::error_code_name(error.code));
  }
}

TEST_F(Tokens, Are256RandomBitsWithAPrefix) {
  const std::string one = create("read"), two = create("read");
  EXPECT_TRUE(std::regex_match(one, std::regex("kdg_[A-Za-z0-9_-]{43}"))) << one;
  EXPECT_NE(one, two);
}

TEST_F(Tokens, AreNowhereOnTheDisk) {
  const std::string token = create("admin");
  bool found_digest = false;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str().find(token), std::string::npos) << entry.path();
    EXPECT_EQ(text.str().find(token.substr(4)), std::string::npos) << entry.path();
    found_digest = found_digest || text.str().find(crypto::sha256_hex(token)) != std::string::npos;
    EXPECT_EQ(std::filesystem::status(entry.path()).permissions() & std::filesystem::perms(077), std::filesystem::perms::none) << entry.path();
  }
  EXPECT_TRUE(found_digest) << "this test must be able to find what is there";
}

TEST_F(Tokens, OpenWhatTheirScopesCover) {
  const std::string read = create("read"), submit = create("submit"), admin = create("admin"), both = create("read,submit");
  Authenticator authenticator(options(), ignore);
  const auto row = [&](const std::string& token) {
    std::string cells;
    for (const Access access : {Access::kPublic, Access::kRead, Access::kSubmit, Access::kAdmin})
      cells += verdict(authenticator, bearer(token), access) + " ";
    return cells;
  };
  EXPECT_EQ(row(read), "OK OK FORBIDDEN FORBIDDEN ");
  EXPECT_EQ(row(submit), "OK FORBIDDEN OK FORBIDDEN ");
  EXPECT_EQ(row(both), "OK OK OK FORBIDDEN ");
  EXPECT_EQ(row(admin), "OK OK OK OK ");
}

TEST_F(Tokens, AreAcceptedInOneFormAlone) {
  const std::string token = create("read");
  AuthOptions patient = options();
  patient.failure_burst = 100;
  Authenticator authenticator(patient, ignore);
  for (const std::string& bad : {std::string(), "Basic " + token, token, "Bearer" + token, std::string("Bearer "), "Bearer " + token + "x", "Bearer x" + token, "Bearer x " + token})
    EXPECT_EQ(verdict(authenticator, with(bad), Access::kRead), "UNAUTHENTICATED") << bad;
  EXPECT_EQ(verdict(authenticator, with("bearer " + token), Access::kRead), "OK") << "the scheme's case does not matter";
  http::Request twice = bearer(token);
  twice.fields.emplace_back("authorization", "Bearer " + token);
  EXPECT_EQ(verdict(authenticator, twice, Access::kRead), "UNAUTHENTICATED");
}

TEST_F(Tokens, EndWhenTheyExpire) {
  const std::string over = create("read", "alice", 1'000'000'000), good = create("read", "alice", 9'000'000'000);
  Authenticator authenticator(options(), ignore);
  EXPECT_EQ(verdict(authenticator, bearer(over), Access::kRead), "UNAUTHENTICATED");
  EXPECT_EQ(verdict(authenticator, bearer(good), Access::kRead), "OK");
}

TEST_F(Tokens, EndWhenAnotherProgramRevokesThem) {
  const std::string token = create("read");
  Authenticator authenticator(options(), ignore);
  const http::Caller caller = authenticator.admit(bearer(token), kPeer, "", Access::kRead);
  EXPECT_EQ(caller.tenant, "alice");
  EXPECT_TRUE(authenticator.still_valid(caller));
  TokenStore(directory).revoke(caller.token);
  authenticator.reload();
  EXPECT_FALSE(authenticator.still_valid(caller));
  EXPECT_EQ(verdict(authenticator, bearer(token), Access::kRead), "UNAUTHENTICATED");
  EXPECT_EQ(verdict(authenticator, with(""), Access::kRead), "UNAUTHENTICATED") << "no token left is not the same as none needed";
}

TEST_F(Tokens, WorkAsSoonAsAnotherProgramHasMadeThem) {
  create("read");
  Authenticator authenticator(options(), ignore);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(verdict(authenticator, bearer(create("read")), Access::kRead), "OK") << i;
}

TEST_F(Tokens, ThatAreWrongMakeTheServerLookABoundedNumberOfTimes) {
  create("read");
  AuthOptions patient = options();
  patient.failures_per_second = 0;   // no bound by peer
  Authenticator authenticator(patient, ignore);
  const auto begin = std::chrono::steady_clock::now();
  int found = 0;   // of the tokens that were made just before
  for (int i = 0; i < 100; ++i) {
    const std::string made = create("read");
    for (int guess = 0; guess < 50; ++guess) verdict(authenticator, bearer("kdg_guess"), Access::kRead);
    found += verdict(authenticator, bearer(made), Access::kRead) == "OK";
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GT(found, 0);
  EXPECT_LE(found, 21 * (seconds + 1)) << "20 for unknown tokens and 1 for all in each second, and the first 20 at once";
}

TEST_F(Tokens, ThatAreWrongAreLimitedByPeer) {
  const std::string good = create("read");
  AuthOptions strict = options();
  strict.failures_per_second = 1e-6, strict.failure_burst = 5;
  Authenticator authenticator(strict, ignore);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(verdict(authenticator, bearer("kdg_guess"), Access::kRead), "UNAUTHENTICATED");
  EXPECT_EQ(verdict(authenticator, bearer("kdg_guess"), Access::kRead), "TOO_MANY_REQUESTS");
  EXPECT_EQ(verdict(authenticator, bearer(good), Access::kRead), "TOO_MANY_REQUESTS") << "else a guesser would learn what is right";
  EXPECT_EQ(verdict(authenticator, bearer(good), Access::kRead, kOther), "OK") << "others are unaffected";
}

TEST_F(Tokens, AreNotNeededUntilThereIsOne) {
  Authenticator authenticator(options(), ignore);
  EXPECT_FALSE(authenticator.has_credentials());
  EXPECT_TRUE(authenticator.admit(with(""), kPeer, "", Access::kAdmin).admin);
  create("read");
  authenticator.reload();
  EXPECT_EQ(verdict(authenticator, with(""), Access::kRead), "UNAUTHENTICATED");
}

TEST_F(Tokens, MayComeFromTheEnvironmentAsADigest) {
  AuthOptions given = options();
  given.token_sha256 = crypto::sha256_hex("a-one-time-token");
  Authenticator authenticator(given, ignore);
  EXPECT_EQ(verdict(authenticator, bearer("a-one-time-token"), Access::kAdmin), "OK");
  EXPECT_EQ(verdict(authenticator, bearer("another"), Access::kRead), "UNAUTHENTICATED");
}

TEST_F(Tokens, OfTheConfigurationMayBeReplacedButNeverByNoLogin) {
  AuthOptions given = options();
  given.token_sha256 = crypto::sha256_hex("first");
  Authenticator authenticator(given, ignore);
  EXPECT_EQ(verdict(authenticator, bearer("first"), Access::kAdmin), "OK");
  authenticator.set_token_sha256(crypto::sha256_hex("second"));
  EXPECT_EQ(verdict(authenticator, bearer("first"), Access::kRead), "UNAUTHENTICATED");
  EXPECT_EQ(verdict(authenticator, bearer("second"), Access::kAdmin), "OK");
  authenticator.set_token_sha256("");
  EXPECT_EQ(verdict(authenticator, bearer("second"), Access::kRead), "UNAUTHENTICATED");
  EXPECT_EQ(verdict(authenticator, with(""), Access::kRead), "UNAUTHENTICATED");
}

TEST_F(Tokens, ACertificateReadsAndSubmitsForItsName) {
  AuthOptions certificates = options();
  certificates.certificates = true;
  Authenticator authenticator(certificates, ignore);
  const http::Caller caller = authenticator.admit(with(""), kPeer, "bob.example", Access::kSubmit);
  EXPECT_EQ(caller.tenant, "bob.example");
  EXPECT_THROW(authenticator.admit(with(""), kPeer, "bob.example", Access::kAdmin), Error);
}

TEST_F(Tokens, OfOneTenantShareARate) {
  const std::string one = create("read"), two = create("read"), other = create("read", "bob");
  AuthOptions slow = options();
  slow.requests_per_second = 1;
  Authenticator authenticator(slow, ignore);
  EXPECT_EQ(verdict(authenticator, bearer(one), Access::kRead), "OK");
  EXPECT_EQ(verdict(authenticator, bearer(two), Access::kRead), "OK");
  EXPECT_EQ(verdict(authenticator, bearer(two), Access::kRead), "TOO_MANY_REQUESTS");
  EXPECT_EQ(verdict(authenticator, bearer(other), Access::kRead), "OK");
}

TEST(Scopes, AreReadAndWritten) {
  EXPECT_EQ(to_string(parse_scopes("submit,read")), "read,submit");
  for (const char* bad : {"", "write", "read,", "read submit"}) EXPECT_THROW(parse_scopes(bad), Error) << bad;
}

http::net::awaitable<http::Response> echo_size(http::Request request) {
  http::Response response;
  response.body = std::to_string(request.body.size());
  co_return response;
}

http::net::awaitable<void> wait_for_ever(std::shared_ptr<http::Peer> peer, http::BodyWriter& out) {
  co_await out.write("begun\n");
  while (!peer->gone()) co_await peer->wait_until(http::Peer::Clock::now() + std::chrono::seconds(30));
}

http::net::awaitable<http::Response> endless(http::Request request) {
  http::Response response;
  response.stream = [peer = request.peer](http::BodyWriter& out) { return wait_for_ever(peer, out); };
  co_return response;
}

struct AuthServer : Tokens {
  explicit AuthServer(double requests_per_second = 0) : requests_per_second(requests_per_second) {}
  AuthOptions bounded() const {
    AuthOptions bounded = options();
    bounded.requests_per_second = requests_per_second;
    return bounded;
  }
  const double requests_per_second;
  std::string token = create("read");
  Authenticator authenticator{bounded(), ignore};
  http::Server server{http::ServerOptions{.gatekeeper = &authenticator},
                      http::Router({{"GET", "/open", echo_size},
                                    {"GET", "/read", echo_size, Access::kRead},
                                    {"GET", "/endless", endless, Access::kRead},
                                    {"POST", "/submit", echo_size, Access::kSubmit}})};
  std::jthread thread{[this] { server.run(); }};
  ~AuthServer() override { server.stop(); }
  std::string field() const { return "Authorization: Bearer " + token + "\r\n"; }
};

TEST_F(AuthServer, Answers401WithAChallengeAnd403WithoutOne) {
  tests::HttpConnection client(server.port());
  EXPECT_EQ(client.get("/open").status, 200);
  const auto missing = client.get("/read");
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(missing.field("WWW-Authenticate"), "Bearer realm=\"kedge\"");
  EXPECT_THAT(missing.body, HasSubstr("\"code\":\"UNAUTHENTICATED\""));
  EXPECT_EQ(client.get("/read", field()).status, 200);
  const auto forbidden = client.request("POST", "/submit", {}, field());
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_EQ(forbidden.field("WWW-Authenticate"), "");
}

TEST_F(AuthServer, RefusesBeforeTheBodyIsReadOrRequested) {
  tests::HttpConnection client(server.port());
  client.send("POST /submit HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 60000000\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 401) << "and not 100";
}

TEST_F(AuthServer, TakesNoTokenFromATrailerOrTheQuery) {
  tests::HttpConnection client(server.port());
  client.send("GET /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + field() + "\r\n");
  EXPECT_EQ(client.read_reply().status, 401);
  EXPECT_TRUE(client.ended());
  tests::HttpConnection other(server.port());
  EXPECT_EQ(other.get("/read?access_token=" + token).status, 401);
}

constexpr double kOneInAQuarterOfAnHour = 0.001;   // so slow that no bucket fills while a test runs

struct SlowServer : AuthServer {
  SlowServer() : AuthServer(kOneInAQuarterOfAnHour) {}
};

TEST_F(SlowServer, SaysInEachAnswerWhatIsLeftOfARate) {
  tests::HttpConnection client(server.port());
  for (const int status : {200, 429}) {
    const auto reply = client.get("/read", field());
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.field("RateLimit-Policy"), "\"requests\";q=1;qu=\"requests\";w=1000");
    EXPECT_THAT(reply.field("RateLimit"), testing::MatchesRegex("\"requests\";r=0;t=(1000|9[0-9][0-9])"));
    EXPECT_THAT(reply.field("Retry-After"), testing::MatchesRegex(status == 200 ? "" : "1000|9[0-9][0-9]"));
  }
  const auto open = client.get("/open");
  EXPECT_EQ(open.status, 200);
  EXPECT_EQ(open.field("RateLimit"), "") << "it belongs to no tenant";
}

TEST_F(AuthServer, SaysNothingOfARateThatIsNotBounded) {
  tests::HttpConnection client(server.port());
  EXPECT_EQ(client.get("/read", field()).field("RateLimit"), "");
}

TEST_F(AuthServer, EndsAStreamWhenItsTokenIsRevoked) {
  tests::HttpConnection client(server.port());
  client.send("GET /endless HTTP/1.1\r\nHost: a\r\n" + field() + "\r\n");
  EXPECT_THAT(client.read_until("begun\n\r\n"), HasSubstr("200 OK"));
  TokenStore store(directory);
  store.revoke(store.list().at(0).id);
  EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace kedge::server::auth
