// Answers that are not read: what they may hold, in all and for each client.
#include "server/http/answer_budget.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "server/http/peer.h"
#include "server/http/server.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace kedge::server::http {
namespace {

using Share = AnswerBudget::Share;
using namespace std::chrono_literals;

TEST(AnswerBudget, BoundsAClientAndAll) {
  AnswerBudget budget(250, 100);
  Share a(budget), b(budget), c(budget), d(budget);
  EXPECT_TRUE(a.try_hold("alice", 60));
  EXPECT_FALSE(b.try_hold("alice", 60)) << "of one client at most 100";
  EXPECT_TRUE(b.try_hold("bob", 100));
  EXPECT_TRUE(c.try_hold("carol", 90));
  EXPECT_FALSE(d.try_hold("dan", 1)) << "of all at most 250";
  a.release();
  EXPECT_TRUE(d.try_hold("dan", 1));
  EXPECT_EQ(budget.held(), 191u);
}

TEST(AnswerBudget, CountsWhatTakesThePlaceOfWhatWasHeld) {
  AnswerBudget budget(100, 100);
  Share share(budget);
  EXPECT_TRUE(share.try_hold("a", 90));
  EXPECT_TRUE(share.try_hold("a", 95));
  EXPECT_EQ(budget.held(), 95u);
  EXPECT_TRUE(share.try_hold("a", 0));
  EXPECT_EQ(budget.held(), 0u);
}

TEST(AnswerBudget, LetsAnAnswerOfAnySizeGoAlone) {
  AnswerBudget budget(200, 100);
  Share large(budget), small(budget);
  EXPECT_TRUE(large.try_hold("a", 1'000'000));
  EXPECT_TRUE(budget.is_full("a"));
  EXPECT_FALSE(small.try_hold("a", 1));
  EXPECT_TRUE(small.try_hold("b", 100));
}

// Bells that were rung say so at once.
struct BellsOfABudget : testing::Test {
  bool was_rung(const std::shared_ptr<Bell>& bell) {
    bool rung = false;
    auto look = [&]() -> net::awaitable<void> {
      const auto until = Alarm::Clock::now() + 50ms;   // when it was not
      co_await bell->alarm().wait_until(until);
      rung = Alarm::Clock::now() < until;
    };
    net::co_spawn(loop, look, net::detached);
    loop.restart();
    loop.run();
    return rung;
  }
  std::shared_ptr<Bell> bell() { return std::make_shared<Bell>(loop.get_executor()); }
  net::io_context loop;
};

TEST_F(BellsOfABudget, RingForThoseThatFit) {
  AnswerBudget budget(100, 100);
  Share held(budget), first(budget), second(budget);
  ASSERT_TRUE(held.try_hold("a", 100));
  const auto of_first = bell(), of_second = bell();
  first.ring_when_free("a", 60, of_first);
  second.ring_when_free("b", 60, of_second);
  held.release();
  EXPECT_TRUE(was_rung(of_first));
  EXPECT_FALSE(was_rung(of_second)) << "the first takes its room";
  ASSERT_TRUE(first.try_hold("a", 60));
  first.release();
  EXPECT_TRUE(was_rung(of_second));
}

TEST_F(BellsOfABudget, ForgetThoseThatAreDestroyed) {
  AnswerBudget budget(100, 100);
  Share held(budget), stays(budget);
  ASSERT_TRUE(held.try_hold("a", 100));
  const auto of_gone = bell(), of_stays = bell();
  {
    Share gone(budget);
    gone.ring_when_free("a", 100, of_gone);
    gone.ring_when_free("a", 90, of_gone);
  }
  stays.ring_when_free("a", 100, of_stays);
  held.release();
  EXPECT_FALSE(was_rung(of_gone));
  EXPECT_TRUE(was_rung(of_stays));
}

constexpr std::size_t kLarge = 20 << 20;   // more than the system buffers

net::awaitable<Response> large(Request request) {
  Response response;
  response.content_type = "application/octet-stream";
  response.body.assign(kLarge, 'x');
  response.fields.emplace_back("Method", request.method);
  co_return response;
}

// Of a client that reads nothing more than the header block of one large answer.
struct Unread : testing::Test {
  static ServerOptions options() {
    ServerOptions options;
    options.limits.answer_bytes_per_client = kLarge + (1 << 20);
    return options;
  }
  Unread() {
    unread.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_NE(unread.read_head().find("200 OK"), std::string::npos);
  }
  tests::RunningServer server{options(), {{"GET", "/large", large}, {"POST", "/large", large}}};
  tests::HttpConnection unread{server.port()}, other{server.port()};
};

TEST_F(Unread, AnswersRefuseTheNextOneUntilTheyAreRead) {
  const tests::HttpReply refused = other.get("/large");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.field("Retry-After"), "1");
  unread.close();
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (other.get("/large").status != 200) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST_F(Unread, AnswersDoNotHideWhatWasDone) {
  const tests::HttpReply done = other.request("POST", "/large");
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.body.size(), kLarge);
}

TEST_F(Unread, AnswersInPlentyTurnARequestWithABodyAwayBeforeItIsRead) {
  tests::HttpConnection second(server.port());
  second.send("POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(second.read_head().find("200 OK"), std::string::npos);   // held beyond the bound
  const tests::HttpReply refused = other.request("POST", "/large", "body");
  EXPECT_EQ(refused.status, 429);
}

}   // namespace
}   // namespace kedge::server::http
