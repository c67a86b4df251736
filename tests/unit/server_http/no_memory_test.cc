// The API while memory runs out, in any place. A program of its own: it replaces new.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "server/http/peer.h"
#include "tests/support/failing_new.h"
#include "tests/unit/server_http/api_server.h"

namespace kedge::server {
namespace {

namespace net = http::net;
using tests::failing;
using tests::failures;
using tests::HttpConnection;
using tests::HttpReply;
using tests::is_exempt;
using tests::kNever;
using tests::taken;

struct Call {
  std::string name, method, target, fields, body;
};

std::string form(const std::string& spec, const std::string& table) {
  return "--x\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.csv\"\r\n\r\n" + table +
         "\r\n--x\r\nContent-Disposition: form-data; name=\"spec\"\r\n\r\n" + spec + "\r\n--x--\r\n";
}

const std::string kTable = "a,b\n1,2\n3,4\n";
const std::vector<Call> kCalls{
    {"Index", "GET", "/", "", ""},
    {"Health", "GET", "/livez", "", ""},
    {"Estimators", "GET", "/v1/estimators", "Accept-Encoding: gzip\r\n", ""},
    {"Submit", "POST", "/v1/jobs", std::string(tests::kJsonField), std::string(tests::kSpec)},
    {"Jobs", "GET", "/v1/jobs", "", ""},
    {"BadJob", "POST", "/v1/jobs", std::string(tests::kJsonField), "{\"dataset\": 1}"},
    {"Wait", "GET", "/v1/jobs/JOB?wait=10ms", "", ""},
    {"Result", "GET", "/v1/jobs/JOB/result", "", ""},
    {"Events", "GET", "/v1/jobs/JOB/events", "", ""},
    {"Upload", "PUT", "/v1/datasets/a.csv", "", kTable},
    {"JobWithData", "POST", "/v1/jobs", "Content-Type: multipart/form-data; boundary=x\r\n",
     form(R"({"dataset":{"stored":"data"},"pipeline":[{"estimator":"GaussianNB"}],"task":{"fit":{}}})", kTable)},
    {"NotThere", "GET", "/nothing", "", ""}};

struct Memory : tests::ApiServer, testing::WithParamInterface<Call> {
  Memory() {
    is_exempt = true;
    std::filesystem::remove_all(directory);
    uploads.emplace(directory, bytes);
    api.uploads = &*uploads;
    job = submit_id();
    succeed(job);
  }
  ~Memory() override { failing = kNever; }

  // 0: the connection was closed.
  HttpReply reply_to(Call call) {
    if (const auto at = call.target.find("JOB"); at != std::string::npos) call.target.replace(at, 3, job);
    HttpConnection own(server.port());
    return own.request(call.method, call.target, call.body, call.fields);
  }
  int status_of(const Call& call) { return reply_to(call).status; }

  const std::filesystem::path directory = testing::TempDir() + "kedge_no_memory_" + GetParam().name;
  TenantBytes bytes;
  std::optional<Uploads> uploads;
  std::string job;
};

// Each allocation of a request, and what follows it, fails once: alone, and with the four after it.
TEST_P(Memory, ThatRunsOutEndsARequestAndNotTheServer) {
  const int good = status_of(GetParam());
  taken = 0;
  ASSERT_EQ(status_of(GetParam()) / 100, good / 100);
  const std::int64_t all = taken;
  int refused = 0;
  for (const std::int64_t in_a_row : {1, 5}) {
    for (std::int64_t i = 0; i < all; ++i) {
      taken = 0, failures = in_a_row, failing = i;
      const HttpReply reply = reply_to(GetParam());
      const int status = reply.status;
      failing = kNever;
      refused += status == 503 || status == 507;
      EXPECT_TRUE(status / 100 == good / 100 || status == 0 || status == 503 || status == 507)
          << "allocation " << i << " of " << all << ": " << reply.head << reply.body;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(status_of(GetParam()) / 100, good / 100) << "the server continues";
  EXPECT_EQ(status_of(kCalls[3]), 202);
}

INSTANTIATE_TEST_SUITE_P(Calls, Memory, testing::ValuesIn(kCalls), [](const auto& call) { return call.param.name; });

struct Variables {
  std::atomic<bool>& are_there;
  ~Variables() { are_there = false; }
};

net::awaitable<void> wait_for_an_errand(net::thread_pool& pool, std::atomic<bool>& are_there, std::atomic<bool>& were_missed) {
  const Variables variables{are_there};
  auto work = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!variables.are_there) were_missed = true;
  };
  co_await http::Peer::offload_to(pool, work);
}

// Asio destroys a coroutine that cannot begin to wait.
TEST(Errand, IsOverOrNeverBeginsWhereItsWaiterIsDestroyed) {
  is_exempt = false;   // as other tests leave this thread
  bool was_spared = false;
  for (int i = 0; !was_spared; ++i) {
    std::atomic<bool> are_there = true, were_missed = false;
    net::io_context loop;
    net::thread_pool pool(1);
    taken = 0, failures = 1, failing = i;
    bool is_spawned = false, is_over = false;
    while (!is_over) {
      try {
        if (!std::exchange(is_spawned, true)) net::co_spawn(loop, wait_for_an_errand(pool, are_there, were_missed), net::detached);
        loop.run();
        is_over = true;
      } catch (const std::bad_alloc&) {   // as the server, go on
      }
    }
    was_spared = taken < i;
    failing = kNever;
    pool.join();
    ASSERT_FALSE(were_missed) << "allocation " << i;
    ASSERT_LT(i, 1000);
  }
}

}   // namespace
}   // namespace kedge::server
