// Many jobs over servers: a thread for each job in flight, which submits it and waits for it.
#include "kedge/map.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace kedge {
namespace {

using schema::ErrorCode;

constexpr std::size_t kLongestKey = 200;

void check(const std::vector<Session>& servers, const std::vector<schema::JobSpec>& specs, const MapOptions& options) {
  const auto refuse = [](std::string message) { throw Error(ErrorCode::kInvalidValue, std::move(message)); };
  if (servers.empty()) refuse("map: there are no servers");
  if (options.in_flight < 1) refuse(fmt::format("map: in_flight is {}, must be at least 1", options.in_flight));
  if (options.key.size() > kLongestKey)
    refuse(fmt::format("map: the key has {} characters, must have at most {}", options.key.size(), kLongestKey));
  for (const auto& [spec, place] : options.known) {
    if (spec >= specs.size())
      refuse(fmt::format("map: a job of spec {} is known, but there are {} specs", spec, specs.size()));
    if (place.server >= servers.size())
      refuse(fmt::format("map: a job is known on server {}, but there are {}", place.server, servers.size()));
  }
}

}   // namespace

struct MapRun::Impl {
  std::vector<Session> servers;
  const std::vector<schema::JobSpec> specs;
  const MapOptions options;

  std::mutex mutex;   // guards what follows
  std::condition_variable_any changed;
  std::deque<std::size_t> waiting;                   // specs that no server has
  std::vector<std::deque<std::size_t>> waiting_at;   // by server: those whose jobs are known to be there
  std::vector<bool> is_away;                         // by server
  std::map<std::size_t, Mapped> ended;               // not yet read
  std::size_t n_read = 0;
  int submitting = 0;                  // threads that may still put a spec back
  std::mutex submitted_mutex;          // one call at a time
  std::vector<std::jthread> threads;   // last: they end first

  Impl(std::vector<Session> sessions, std::vector<schema::JobSpec> jobs, MapOptions given)
      : servers(std::move(sessions)),
        specs(std::move(jobs)),
        options(std::move(given)),
        waiting_at(servers.size()),
        is_away(servers.size()) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto known = options.known.find(i);
      (known == options.known.end() ? waiting : waiting_at[known->second.server]).push_back(i);
    }
    const std::size_t most =
        std::min(static_cast<std::size_t>(options.in_flight), std::max<std::size_t>(specs.size(), 1));
    for (std::size_t s = 0; s < servers.size(); ++s)
      for (std::size_t n = 0; n < most; ++n)
        threads.emplace_back(
            [this, s, session = servers[s].another()](std::stop_token stop) { work(s, session, stop); });
  }

  // All at once, then each is waited for.
  ~Impl() {
    for (std::jthread& thread : threads) thread.request_stop();
  }

  // The next spec for a thread of this server; nothing: there will be none. Specs that others may put back are waited
  // for.
  std::optional<std::size_t> take(std::size_t server, std::stop_token stop) {
    std::unique_lock lock(mutex);
    std::deque<std::size_t>& here = waiting_at[server];
    changed.wait(lock, stop, [&] { return !here.empty() || is_away[server] || !waiting.empty() || submitting == 0; });
    if (stop.stop_requested()) return std::nullopt;
    std::deque<std::size_t>& from = !here.empty() ? here : waiting;
    if (from.empty() || (is_away[server] && here.empty())) return std::nullopt;
    const std::size_t spec = from.front();
    from.pop_front();
    ++submitting;
    return spec;
  }

  void work(std::size_t server, const Session& session, std::stop_token stop) {
    while (const std::optional<std::size_t> spec = take(server, stop)) {
      Mapped mapped{.spec = *spec, .place = {.server = server, .job = {}}};
      bool was_submitted = false;
      try {
        const Job job = submitted_job(*spec, server, session, stop);
        was_submitted = true;
        mapped.place.job = job.id();
        no_longer_submitting();
        mapped.result = job.result(stop);
      } catch (const Error& error) {
        if (stop.stop_requested()) return;
        if (!was_submitted && put_back(*spec, server, error)) continue;
        mapped.error = error;
      }
      if (!was_submitted) no_longer_submitting();
      const std::lock_guard lock(mutex);
      ended.emplace(*spec, std::move(mapped));
      changed.notify_all();
    }
  }

  Job submitted_job(std::size_t spec, std::size_t server, const Session& session, const std::stop_token& stop) {
    if (const auto known = options.known.find(spec); known != options.known.end())
      return session.job(known->second.job);
    const Job job = options.key.empty()
                        ? session.submit(specs[spec], stop)
                        : session.submit_once(specs[spec], fmt::format("{}-{}", options.key, spec), stop);
    if (options.submitted) {
      const std::lock_guard lock(submitted_mutex);
      options.submitted(spec, {.server = server, .job = job.id()});
    }
    return job;
  }

  void no_longer_submitting() {
    const std::lock_guard lock(mutex);
    --submitting;
    changed.notify_all();
  }

  // Whether another server may take the job that this one did not answer.
  bool put_back(std::size_t spec, std::size_t server, const Error& error) {
    const std::lock_guard lock(mutex);
    if (error.code != ErrorCode::kConnection) return false;
    is_away[server] = true;
    if (std::ranges::find(is_away, false) == is_away.end()) return false;
    waiting.push_front(spec);
    --submitting;
    changed.notify_all();
    return true;
  }

  // Under the lock: what can be read next.
  std::map<std::size_t, Mapped>::iterator readable() { return options.ordered ? ended.find(n_read) : ended.begin(); }

  // Under the lock: every server is away, and no job is on its way to one, so that these specs have no taker.
  void give_up_waiting() {
    if (submitting > 0 || waiting.empty() || std::ranges::find(is_away, false) != is_away.end()) return;
    for (const std::size_t spec : waiting)
      ended.emplace(
          spec,
          Mapped{.spec = spec, .place = {}, .result = {}, .error = Error(ErrorCode::kConnection, "no server answers")});
    waiting.clear();
  }
};

MapRun::MapRun(std::vector<Session> servers, std::vector<schema::JobSpec> specs, MapOptions options) {
  check(servers, specs, options);
  impl_ = std::make_unique<Impl>(std::move(servers), std::move(specs), std::move(options));
}
MapRun::MapRun(MapRun&&) noexcept = default;
MapRun::~MapRun() = default;

std::optional<Mapped> MapRun::next() {
  Impl& run = *impl_;
  std::unique_lock lock(run.mutex);
  if (run.n_read == run.specs.size()) return std::nullopt;
  run.changed.wait(lock, [&] {
    run.give_up_waiting();
    return run.readable() != run.ended.end();
  });
  Mapped mapped = std::move(run.readable()->second);
  run.ended.erase(mapped.spec);
  ++run.n_read;
  return mapped;
}

MapRun map_jobs(std::vector<Session> servers, std::vector<schema::JobSpec> specs, MapOptions options) {
  return MapRun(std::move(servers), std::move(specs), std::move(options));
}

}   // namespace kedge
