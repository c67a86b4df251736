// TLS between two ends of a pair of sockets.
#include "crypto/tls_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <functional>
#include <utility>

#include "crypto/certificate.h"
#include "schemas/error.h"

namespace kedge::crypto {
namespace {

struct Ends {
  TlsChannel server, client;

  // Steps both until it is so; false: it never was.
  bool until(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) server.step(), client.step();
    return done();
  }
};

Ends connected(const SelfSigned& own, const std::string& fingerprint) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
  return {.server = TlsChannel::accepting(fds[0], own.certificate, own.key),
          .client = TlsChannel::connecting(fds[1], fingerprint)};
}

TEST(TlsChannel, CarriesManyBytesBothWaysAndTheEnd) {
  const SelfSigned own = make_self_signed({"host"}, 2);
  Ends ends = connected(own, own.fingerprint);
  const std::string there(5'000'000, 'a'), back = "back";
  ends.client.send(there);
  ends.server.send(back);
  std::string received;
  EXPECT_TRUE(ends.until([&] {
    received += std::exchange(ends.server.received(), {});
    return received.size() == there.size() && ends.client.received() == back;
  }));
  EXPECT_EQ(received, there);
  EXPECT_EQ(ends.client.queued(), 0U);
  {
    const TlsChannel gone = std::move(ends.client);
  }
  for (int i = 0; i < 100 && !ends.server.has_ended(); ++i) ends.server.step();
  EXPECT_TRUE(ends.server.has_ended());
  EXPECT_EQ(ends.server.problem(), "");
}

TEST(TlsChannel, ReadsNoMoreThanTheReaderUses) {
  const SelfSigned own = make_self_signed({"host"}, 2);
  Ends ends = connected(own, own.fingerprint);
  ends.client.send(std::string(10'000'000, 'a'));
  EXPECT_FALSE(ends.until([&] { return ends.client.queued() == 0; }));
  EXPECT_LT(ends.server.received().size(), std::size_t{2'000'000});
}

TEST(TlsChannel, RefusesAnotherCertificate) {
  const SelfSigned own = make_self_signed({"host"}, 2), other = make_self_signed({"host"}, 2);
  Ends ends = connected(own, other.fingerprint);
  EXPECT_TRUE(ends.until([&] { return ends.client.has_ended(); }));
  EXPECT_EQ(ends.client.refused(), own.fingerprint);
  EXPECT_FALSE(ends.client.is_ready());
  EXPECT_NE(ends.client.problem(), "");
}

TEST(TlsChannel, RefusesWhatIsNoCertificate) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
  EXPECT_THROW(TlsChannel::accepting(fds[0], "certificate", "key"), schema::Error);
  ::shutdown(fds[1], SHUT_RDWR);
}

}   // namespace
}   // namespace kedge::crypto
