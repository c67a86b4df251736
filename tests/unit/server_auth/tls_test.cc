// TLS: what is offered, what is refused, a new certificate under the feet of open connections, client certificates.
#include "server/http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "crypto/certificate.h"
#include "schemas/error.h"
#include "server/http/server.h"
#include "tests/support/http_client.h"
#include "tests/support/test_ca.h"
#include "tests/support/tls_client.h"

namespace kedge::server::http {
namespace {

using crypto::SelfSigned;
using testing::HasSubstr;
using testing::StartsWith;
using tests::TlsConnection;
using namespace std::chrono_literals;

net::awaitable<Response> hello(Request request) {
  Response response;
  response.body = request.caller.tenant + ":" + std::to_string(request.body.size());
  co_return response;
}

net::awaitable<Response> big(Request) {
  Response response;
  response.body = std::string(5'000'000, 'x');
  co_return response;
}

class TlsServer {
 public:
  explicit TlsServer(ServerOptions options)
      : server_(std::move(options), Router({{"GET", "/", hello}, {"POST", "/", hello}, {"GET", "/big", big}})),
        thread_([this] { server_.run(); }) {}
  ~TlsServer() { server_.stop(); }
  std::uint16_t port() const { return server_.port(); }
  Server& server() { return server_; }

 private:
  Server server_;
  std::jthread thread_;
};

ServerOptions with(const SelfSigned& own, std::string client_ca = {}) {
  ServerOptions options;
  options.tls = {.certificate = own.certificate, .key = own.key, .client_ca = std::move(client_ca)};
  options.deadlines.handshake = 300ms;
  options.deadlines.linger = 300ms;
  return options;
}

TEST(Tls, ServesVersions12And13) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsConnection client(server.port(), {.version = version});
    ASSERT_TRUE(client.connected()) << version;
    EXPECT_EQ(client.get("/"), "HTTP/1.1 200 OK");
    EXPECT_EQ(client.get("/"), "HTTP/1.1 200 OK") << "the connection stays open";
    EXPECT_EQ(client.fingerprint(), server.server().fingerprint());
  }
}

TEST(Tls, RefusesOlderVersions) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION})
    EXPECT_FALSE(TlsConnection(server.port(), {.version = version}).connected()) << version;
}

TEST(Tls, OffersForwardSecretSuitesWithAuthenticatedEncryptionAlone) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  const auto connects = [&](const char* suites) {
    return TlsConnection(server.port(), {.version = TLS1_2_VERSION, .suites = suites}).connected();
  };
  EXPECT_TRUE(connects("ECDHE-ECDSA-AES128-GCM-SHA256"));
  EXPECT_FALSE(connects("ECDHE-ECDSA-AES128-SHA256")) << "CBC";
  EXPECT_FALSE(connects("ECDHE-ECDSA-AES256-SHA")) << "CBC";
  EXPECT_FALSE(connects("ECDHE-ECDSA-AES128-CCM")) << "not on our list";
  EXPECT_FALSE(connects("aNULL@SECLEVEL=0")) << "without authentication";
}

TEST(Tls, CarriesLargeAnswersAndBodiesWhole) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  TlsConnection client(server.port());
  client.send("GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string answer = client.read_to_end();
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 5'000'000u);
  TlsConnection sender(server.port());
  ASSERT_TRUE(sender.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3000000\r\n\r\n" + std::string(3'000'000, 'y')));
  EXPECT_THAT(sender.read_to_end(), testing::EndsWith(":3000000"));
}

TEST(Tls, AnswersAClientThatSpeaksPlainHttp) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  tests::HttpConnection client(server.port());
  const tests::HttpReply reply = client.get("/");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("https://"));
  EXPECT_TRUE(client.ended());
}

TEST(Tls, DropsGarbageAndUnfinishedGreetings) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  for (const std::string& bytes : {std::string("\x16\x03\x01\xff\xff garbage", 13), std::string("\x16\x03\x01\x02\x00\x01", 6), std::string("\0\0\0", 3), std::string()}) {
    tests::HttpConnection client(server.port());
    client.send(bytes);
    client.read_until("\n");   // an alert, perhaps
    EXPECT_TRUE(client.ended());
  }
  EXPECT_EQ(TlsConnection(server.port()).get("/"), "HTTP/1.1 200 OK") << "the server continues";
}

TEST(Tls, SendsStrictTransportSecurity) {
  TlsServer server(with(crypto::make_self_signed({"localhost"}, 10)));
  TlsConnection client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("\r\nStrict-Transport-Security: "));
}

void put(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

TEST(Tls, TakesANewCertificateWithoutDroppingAConnection) {
  const std::string folder = testing::TempDir() + "kedge_rotation";
  std::filesystem::create_directories(folder);
  const std::string certificate = folder + "/cert.pem", key = folder + "/key.pem";
  const SelfSigned first = crypto::make_self_signed({"localhost"}, 10), second = crypto::make_self_signed({"localhost"}, 10);
  put(certificate, first.certificate), put(key, first.key);
  ServerOptions options;
  options.tls = {.certificate = certificate, .key = key};
  std::atomic<int> reports = 0;
  options.report = [&](std::string_view) { ++reports; };
  TlsServer server(options);
  TlsConnection before(server.port());
  ASSERT_EQ(before.get("/"), "HTTP/1.1 200 OK");

  put(certificate, second.certificate), put(key, second.key);
  server.server().reload_certificates();
  EXPECT_EQ(before.get("/"), "HTTP/1.1 200 OK") << "served after the reload, which was posted before";
  TlsConnection after(server.port());
  EXPECT_EQ(after.get("/"), "HTTP/1.1 200 OK");
  EXPECT_NE(after.fingerprint(), before.fingerprint());

  put(key, first.key);   // of another certificate
  server.server().reload_certificates();
  EXPECT_EQ(before.get("/"), "HTTP/1.1 200 OK");
  EXPECT_EQ(reports, 1) << "the operator sees it";
  TlsConnection still(server.port());
  EXPECT_EQ(still.get("/"), "HTTP/1.1 200 OK");
  EXPECT_EQ(still.fingerprint(), after.fingerprint()) << "what cannot be used changes nothing";
}

TEST(Tls, NamesWhatIsWrongWithACertificate) {
  const SelfSigned own = crypto::make_self_signed({"a"}, 10), other = crypto::make_self_signed({"a"}, 10);
  const auto message = [](const TlsOptions& options) -> std::string {
    try {
      TlsContext context(options);
      return "";
    } catch (const schema::Error& error) {
      return error.message;
    }
  };
  EXPECT_EQ(message({.certificate = own.certificate, .key = own.key}), "");
  EXPECT_THAT(message({.certificate = "/does/not/exist", .key = own.key}), StartsWith("tls-cert: cannot read /does/not/exist"));
  EXPECT_THAT(message({.certificate = own.key, .key = own.key}), StartsWith("tls-cert: holds no certificate"));
  EXPECT_THAT(message({.certificate = own.certificate, .key = other.key}), StartsWith("tls-key: is not the key"));
  EXPECT_THAT(message({.certificate = own.certificate}), StartsWith("tls-key: is missing"));
  EXPECT_THAT(message({.certificate = own.certificate, .key = own.key, .client_ca = own.key}), StartsWith("tls-client-ca: holds no"));
}

// Admits every caller, as the tenant that the certificate names.
struct CertificateKeeper final : Gatekeeper {
  Caller admit(const Request&, const net::ip::address&, std::string_view certificate, Access) override {
    return {.tenant = std::string(certificate)};
  }
  bool still_valid(const Caller&) override { return true; }
};

TEST(Tls, DemandsAClientCertificateIfConfiguredAndReadsItsName) {
  const tests::TestCa ca, stranger;
  CertificateKeeper keeper;
  ServerOptions options = with(crypto::make_self_signed({"localhost"}, 10), ca.certificate());
  options.gatekeeper = &keeper;
  TlsServer server(options);
  const auto answer = [&](const tests::Issued& own) {
    TlsConnection client(server.port(), {.certificate = own.certificate, .key = own.key});
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return client.read_to_end();
  };
  EXPECT_THAT(answer(ca.issue("alice")), testing::EndsWith("alice:0"));
  EXPECT_EQ(answer({}), "") << "no certificate";
  EXPECT_EQ(answer(stranger.issue("alice")), "") << "signed by another authority";
  EXPECT_EQ(answer(ca.issue("alice", "clientAuth", -5, -1)), "") << "expired";
  EXPECT_EQ(answer(ca.issue("alice", "clientAuth", 1, 5)), "") << "not yet valid";
  EXPECT_EQ(answer(ca.issue("alice", "serverAuth")), "") << "meant for a server";
}

}  // namespace
}  // namespace kedge::server::http
