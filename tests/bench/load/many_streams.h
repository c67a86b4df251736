// Thousands of event streams read by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::load {

struct Measured {
  int open = 0;   // streams that were still open at the end
  std::int64_t events = 0, out_of_order = 0, p50_ms = 0, p99_ms = 0, worst_ms = 0, fewest = 0, most = 0;
};

class ManyStreams {
 public:
  explicit ManyStreams(std::uint16_t port);
  ~ManyStreams();
  ManyStreams(const ManyStreams&) = delete;

  void open(const std::string& path);
  void read_for(std::chrono::milliseconds time);
  void begin_measuring();
  Measured measured() const;

 private:
  struct Stream {
    int fd = -1;
    std::string rest;   // an unfinished line
    std::int64_t last_id = 0, events = 0;
  };
  void receive(Stream& stream);
  void line(Stream& stream, std::string_view text);

  const std::uint16_t port_;
  const int poll_fd_;
  bool measuring_ = false;
  std::vector<Stream> streams_;
  std::vector<std::int64_t> lags_ms_;   // from the time in an event to its arrival
  std::int64_t out_of_order_ = 0;
};

}  // namespace kedge::load
