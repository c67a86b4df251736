// A waiting connection is watched, so that a client that disconnects frees its request. One with many answers is
// watched no more than a new one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>

#include "server/http/peer.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace {
std::atomic<int> looks = 0;   // of the server at what it does not take
}

// In the place of the C library's, which it calls.
extern "C" ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  static const auto real = reinterpret_cast<ssize_t (*)(int, void*, size_t, int)>(dlsym(RTLD_NEXT, "recv"));
  if ((flags & MSG_PEEK) != 0) ++looks;
  return real(fd, buffer, size, flags);
}

namespace kedge::server::http {
namespace {

using tests::HttpConnection;
using tests::RunningServer;

net::awaitable<Response> answer_after_waiting(Request request) {
  const auto peer = request.peer;   // moved out before the first wait: a request is not copied
  co_await peer->wait_until(Peer::Clock::now());
  co_return Response{};
}

TEST(WatchedConnection, IsWatchedForTheRequestInProgressAlone) {
  constexpr int kRequests = 100;
  RunningServer server({}, {{"GET", "/wait", answer_after_waiting}});
  HttpConnection client(server.port());
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(client.get("/wait").status, 200);
  EXPECT_LE(looks, kRequests);   // 4,950 if each request continued to watch
}

}   // namespace
}   // namespace kedge::server::http
