// Load on a server on loopback: durable submits, small jobs from submit to result, and very many event streams. load.py runs it.
//
// Usage: kedge_load submit PORT SECONDS CLIENTS | rate PORT SECONDS CLIENTS A_SECOND | jobs PORT COUNT IN_FLIGHT
//        | streams PORT STREAMS JOBS SECONDS
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/codec.h"
#include "tests/bench/load/many_streams.h"
#include "tests/support/http_client.h"

namespace {

using namespace kedge;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kJson = "Content-Type: application/json\r\n";

std::string spec(std::string_view device) {
  return fmt::format(R"({{"dataset":{{"builtin":"iris"}},"pipeline":[{{"estimator":"GaussianNB"}}],)"
                     R"("task":{{"crossValidate":{{"cv":2}}}},"device":"{}"}})",
                     device);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Milliseconds that each call took, over all threads.
class Samples {
 public:
  void add(double ms) {
    const std::lock_guard lock(mutex_);
    ms_.push_back(ms);
  }
  void print(std::string_view what, double seconds, int others) {
    std::ranges::sort(ms_);
    const auto at = [&](double share) { return ms_.empty() ? 0.0 : ms_[static_cast<std::size_t>(share * (ms_.size() - 1))]; };
    fmt::print("{}: {:.0f} a second, p50 {:.2f} ms, p99 {:.2f} ms, {} calls, {} answered otherwise\n", what, ms_.size() / seconds,
               at(0.5), at(0.99), ms_.size(), others);
  }

 private:
  std::mutex mutex_;
  std::vector<double> ms_;
};

// `clients` connections post the spec to `path` until `go_on` says no.
template <class GoOn>
void post_all(std::uint16_t port, int clients, const std::string& path, std::string_view what, GoOn go_on) {
  Samples samples;
  std::atomic<int> refused = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i)
      threads.emplace_back([&] {
        tests::HttpConnection connection(port);
        const std::string body = spec("cpu");
        while (go_on()) {
          const auto sent = Clock::now();
          const int status = connection.request("POST", path, body, kJson).status;
          samples.add(1e3 * seconds_since(sent));
          if (status != 201 && status != 202) ++refused;
        }
      });
  }
  samples.print(what, seconds_since(begin), refused);
}

// Submits at `rate` a second in all, with any answers; a call that is late is made at once.
void submit_at_rate(std::uint16_t port, int seconds, int clients, int rate) {
  Samples taken, refused;
  std::atomic<int> others = 0;   // refusals that do not say when to come again, and other answers
  const auto begin = Clock::now(), end = begin + std::chrono::seconds(seconds);
  const auto step = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1.0 / rate));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i)
      threads.emplace_back([&, i] {
        tests::HttpConnection connection(port);
        const std::string body = spec("cpu");
        for (auto due = begin + i * step; std::max(due, Clock::now()) < end; due += clients * step) {
          std::this_thread::sleep_until(due);
          const auto sent = Clock::now();
          const tests::HttpReply reply = connection.request("POST", "/v1/jobs", body, kJson);
          const bool is_taken = reply.status == 201 || reply.status == 202;
          (is_taken ? taken : refused).add(1e3 * seconds_since(sent));
          others += !is_taken && ((reply.status != 429 && reply.status != 503) || reply.field("Retry-After").empty());
        }
      });
  }
  taken.print("taken", seconds_since(begin), 0);
  refused.print("refused", seconds_since(begin), others);
}

int streams(std::uint16_t port, int count, int jobs, int seconds) {
  tests::HttpConnection connection(port);
  std::vector<std::string> ids;
  for (int i = 0; i < jobs; ++i)   // a device for each, so that all run at the same time
    ids.push_back(
        schema::from_json<schema::Job>(connection.request("POST", "/v1/jobs", spec(fmt::format("cuda:{}", i)), kJson).body).id);
  load::ManyStreams all(port);
  for (int i = 0; i < count; ++i) all.open("/v1/jobs/" + ids[static_cast<std::size_t>(i % jobs)] + "/events");
  all.read_for(std::chrono::seconds(3));   // all have caught up
  all.begin_measuring();
  all.read_for(std::chrono::seconds(seconds));
  const load::Measured m = all.measured();
  fmt::print(
      "{} streams: {} events, {:.0f} a second, {} out of order, lag p50 {} ms, p99 {} ms, worst {} ms; fewest on a stream {}, "
      "most {}\n",
      m.open, m.events, static_cast<double>(m.events) / seconds, m.out_of_order, m.p50_ms, m.p99_ms, m.worst_ms, m.fewest,
      m.most);
  std::fflush(stdout);
  for (const std::string& id : ids) connection.request("POST", "/v1/jobs/" + id + "/cancel");
  return m.open == count && m.out_of_order == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}   // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::atoi(argv[i]); };
  if (argc < 5) return 64;
  const auto port = static_cast<std::uint16_t>(number(2));
  if (mode == "streams" && argc == 6) return streams(port, number(3), number(4), number(5));
  if (mode == "submit") {
    const auto end = Clock::now() + std::chrono::seconds(number(3));
    post_all(port, number(4), "/v1/jobs", "durable submits", [&] { return Clock::now() < end; });
  } else if (mode == "rate" && argc == 6) {
    submit_at_rate(port, number(3), number(4), number(5));
  } else if (mode == "jobs") {
    std::atomic<int> left = number(3);
    post_all(port, number(4), "/v1/jobs?wait=30s", fmt::format("submit to result, {} in flight", number(4)),
             [&] { return left-- > 0; });
  }
  return EXIT_SUCCESS;
}
