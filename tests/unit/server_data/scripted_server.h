// A small HTTP server for tests: sends given answers, one a connection, and keeps the requests.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kedge {

// Listens on a free port of loopback until all answers are given or it goes out of scope. Each connection gets one
// answer, byte for byte, and is then closed, or first waits for the client to close: an answer shorter than its
// Content-Length is a broken download, or one that does not end.
class ScriptedServer {
 public:
  enum class After { kClose, kWait };
  explicit ScriptedServer(std::vector<std::string> answers, After after = After::kClose)
      : answers_(std::move(answers)), after_(after) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool listens = ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(listener_, 8) == 0 &&
                         ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!listens) throw std::runtime_error("no port to listen on");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);   // wakes accept()
    thread_.join();
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/file"; }
  std::vector<std::string> requests() const {   // heads, in order
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      std::string head;
      char piece[4096];
      while (head.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(connection, piece, sizeof piece, 0);
        if (n <= 0) break;
        head.append(piece, static_cast<std::size_t>(n));
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(head);
      }
      ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      while (after_ == After::kWait && ::recv(connection, piece, sizeof piece, 0) > 0) {
      }
      ::close(connection);
    }
  }

  const std::vector<std::string> answers_;
  const After after_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace kedge
