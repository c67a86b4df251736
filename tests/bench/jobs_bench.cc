// The job service's two budgets: durable submits per second from 64 callers, and the time from submit to result.
//
// Usage: kedge_jobs_bench DATA-DIR WORKER   (kedge-worker, or the fake worker for the service alone)
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <thread>
#include <vector>

#include "tests/support/jobs_service.h"

namespace {

using namespace kedge;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

schema::JobSpec trivial_job(bool fake) {
  schema::JobSpec spec = tests::job_spec(fake ? "Succeed" : "GaussianNB");
  spec.device = "cpu";
  return spec;
}

// Submits and blocks until the job is on disk, or has ended.
class Caller {
 public:
  explicit Caller(server::JobService& service) : service_(service) {}

  std::string submit(const schema::JobSpec& spec) {
    std::string id;
    service_.submit(spec, [&](schema::Job job) { set([&] { id = std::move(job.id); }); });
    wait([&] { return !id.empty(); });
    return id;
  }

  schema::Job run(const schema::JobSpec& spec) {
    const std::string id = submit(spec);
    int wakes = 1, seen = 0;
    const auto subscription = service_.subscribe(id, [&] { set([&] { ++wakes; }); });
    while (true) {
      wait([&] { return wakes > seen; });
      {
        const std::lock_guard lock(mutex_);
        seen = wakes;
      }
      const schema::Job job = service_.find(id).value();
      if (schema::is_final(job.state)) return job;
    }
  }

 private:
  template <class Change>
  void set(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_one();
  }
  template <class Condition>
  void wait(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }

  server::JobService& service_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

void measure_latency(server::JobService& service, const schema::JobSpec& spec) {
  constexpr int kJobs = 300;
  Caller caller(service);
  for (int i = 0; i < 20; ++i) caller.run(spec);   // warm
  std::vector<double> ms;
  for (int i = 0; i < kJobs; ++i) {
    const auto begin = Clock::now();
    const schema::Job job = caller.run(spec);
    ms.push_back(seconds_since(begin) * 1e3);
    if (job.state != schema::JobState::kSucceeded) {
      fmt::print("job failed: {}\n", job.error ? job.error->message : job.reason);
      return;
    }
  }
  std::ranges::sort(ms);
  fmt::print("submit to result, one at a time: p50 {:.2f} ms, p99 {:.2f} ms ({} jobs)\n", ms[kJobs / 2], ms[kJobs * 99 / 100],
             kJobs);
}

void measure_submits(server::JobService& service, const schema::JobSpec& spec) {
  constexpr int kCallers = 64;
  constexpr double kSeconds = 3;
  std::atomic<int> submits = 0;
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kCallers; ++t)
      threads.emplace_back([&] {
        for (Caller caller(service); seconds_since(begin) < kSeconds; ++submits) caller.submit(spec);
      });
  }
  fmt::print("durable submits, {} callers: {:.0f} a second\n", kCallers, submits / seconds_since(begin));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const bool fake = std::string(argv[2]).find("fake") != std::string::npos;
  server::JobServiceOptions options = tests::service_options(argv[1], argv[2]);
  if (!fake) options.validate = {}, options.acquire = {};
  server::JobService service(std::move(options));
  measure_latency(service, trivial_job(fake));
  measure_submits(service, trivial_job(fake));
}
