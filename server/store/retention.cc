// How long jobs are kept: see retention.h.
#include "server/store/retention.h"

#include <future>
#include <memory>

#include "schemas/error.h"
#include "server/store/clock.h"

namespace kedge::server {
namespace {

constexpr std::int64_t kJobsAtOnce = 64;   // in one transaction, so that submits wait little
constexpr std::chrono::seconds kWriteWait{10};

std::string time_before_now(std::chrono::seconds age) {
  return format_time(std::chrono::system_clock::now() - age);
}

}  // namespace

Retention::Retention(Store& store, RetentionOptions options, std::function<void(const Expired&)> removed)
    : store_(store), removed_(std::move(removed)), periodic_(options, [this] { sweep(); }) {}

bool Retention::write(std::function<void(StoreWriter&)> apply) {
  const auto done = std::make_shared<std::promise<bool>>();   // shared with the write, which may outlive the wait
  store_.enqueue({.apply = std::move(apply),
                  .committed = [done] { done->set_value(true); },
                  .refused = [done](const schema::Error&) { done->set_value(false); }});
  auto answer = done->get_future();
  return answer.wait_for(kWriteWait) == std::future_status::ready && answer.get();
}

template <class Find, class Change, class Done>
void Retention::work(Find find, Change change, Done done) {
  while (true) {
    std::vector<Expired> expired = find();
    if (expired.empty()) return;
    const auto jobs = std::make_shared<const std::vector<Expired>>(std::move(expired));   // shared with a write that may outlive the wait
    const bool is_written = write([jobs, change](StoreWriter& writer) {
      for (const Expired& job : *jobs) change(writer, job);
    });
    if (!is_written) return;
    for (const Expired& job : *jobs) done(job);
  }
}

void Retention::sweep() {
  const RetentionOptions bounds = periodic_.options();
  const auto remove = [](StoreWriter& writer, const Expired& job) { writer.remove(job.job); };
  const auto trim = [](StoreWriter& writer, const Expired& job) { writer.trim_events(job.job, job.first_kept); };
  const auto gone = [this](const Expired& job) {
    if (removed_) removed_(job);
  };
  const auto stays = [](const Expired&) {};
  write([](StoreWriter& writer) { writer.expire_keys(); });
  if (bounds.jobs.count() > 0) work([&] { return store_.ended_before(time_before_now(bounds.jobs), kJobsAtOnce); }, remove, gone);
  if (bounds.events.count() > 0)
    work([&] { return store_.events_ended_before(time_before_now(bounds.events), kJobsAtOnce); }, trim, stays);
  if (bounds.events_per_job > 0) work([&] { return store_.with_more_events_than(bounds.events_per_job, kJobsAtOnce); }, trim, stays);
  if (bounds.store_bytes > 0)
    work(
        [&] {
          return store_.used_bytes() > bounds.store_bytes ? store_.ended_before("~", kJobsAtOnce) : std::vector<Expired>();
        },
        remove, gone);
}

}  // namespace kedge::server
