// How long a stream is listened to when nothing happens.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "client/sdk/transport.h"

namespace kedge {
namespace {

using namespace std::chrono_literals;

// Answers one request with a stream of comments, `pause` after each other, and then says nothing, until it goes.
class QuietServer {
 public:
  QuietServer(int comments, std::chrono::milliseconds pause)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::jthread([=, this](const std::stop_token& stop) { serve(stop, comments, pause); });
  }
  ~QuietServer() {
    ::shutdown(listener_, SHUT_RDWR);   // ends accept()
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
  }
  const std::string& url() const { return url_; }

 private:
  void serve(const std::stop_token& stop, int comments, std::chrono::milliseconds pause) const {
    const int peer = ::accept(listener_, nullptr, nullptr);
    std::array<char, 4096> request;
    (void)::recv(peer, request.data(), request.size(), 0);
    constexpr std::string_view kHead =
                                   "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
                               kComment = ":\n\n";
    (void)::send(peer, kHead.data(), kHead.size(), MSG_NOSIGNAL);
    for (int i = 0; i < comments && !stop.stop_requested(); ++i) {
      (void)::send(peer, kComment.data(), kComment.size(), MSG_NOSIGNAL);
      std::this_thread::sleep_for(pause);
    }
    while (!stop.stop_requested()) std::this_thread::sleep_for(10ms);
    ::close(peer);
  }

  const int listener_;
  std::string url_;
  std::jthread thread_;
};

// Three bytes now and then are far less than what curl counts as a byte a second.
TEST(Stream, IsWholeWhileHeartbeatsComeAndBrokenWhenNoneDoes) {
  constexpr int kComments = 8;
  constexpr auto kPause = 400ms, kSilence = 1200ms;
  const QuietServer server(kComments, kPause);
  const Transport transport(server.url(), "");
  Transport::Stream stream(transport, "/events", "", {}, kSilence);
  const auto begun = std::chrono::steady_clock::now();
  std::string all;
  while (const auto bytes = stream.read()) all += *bytes;
  const auto lasted = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(all.size(), 3u * kComments);
  EXPECT_GE(lasted, (kComments - 1) * kPause + kSilence);
}

}   // namespace
}   // namespace kedge
