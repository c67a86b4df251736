// A transfer that drips ends, for good: it would hold its place for as long as its server likes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "schemas/error.h"
#include "server/data/fetch.h"
#include "tests/unit/server_data/temporary_directory.h"

namespace kedge::server {
namespace {

// Sends its answer ten bytes at a time, 20 times a second, for as long as it is read.
class DrippingServer {
 public:
  DrippingServer() {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port to listen on");
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
  }
  ~DrippingServer() {
    thread_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/file"; }
  int connections() const { return connections_; }

 private:
  void serve(std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      ++connections_;
      std::string next = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
      while (!stop.stop_requested() && ::send(connection, next.data(), next.size(), MSG_NOSIGNAL) > 0) {
        next = "0123456789";
        std::unique_lock lock(mutex);
        never.wait_for(lock, stop, std::chrono::milliseconds(50), [] { return false; });
      }
      ::close(connection);
    }
  }

  int listener_ = -1, port_ = 0;
  std::atomic<int> connections_ = 0;
  std::jthread thread_;
};

TEST(FetchFloor, EndsATransferThatIsSlowerAndTriesItNoMore) {
  const DrippingServer server;
  const TemporaryDirectory directory;
  const FetchLibrary library;
  const Fetcher fetcher(AddressRules({"127.0.0.1"}, ""), {.floor = 1'000'000, .floor_time = std::chrono::seconds(1)});
  try {
    fetcher.to_file({.what = "file", .url = server.url()}, directory.path() / "file", {}, {});
    ADD_FAILURE() << "it has come";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kDatasetUnavailable);
    EXPECT_THAT(
        error.message,
        testing::MatchesRegex(
            "file: came at [0-9]+ bytes per second for [0-9]+ s, slower than the 1000000 that --fetch-floor demands"));
  }
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace kedge::server
