// Places where a test can make the program die, fail, wait or break its promise. In other builds they are nothing.
//
// KEDGE_FAIL_POINT=NAME=ACTION[@HIT], in the environment, arms one of them, from its HIT-th pass on (1 by default;
// `abort` needs no more):
//   abort       the process ends at once, nothing is flushed       error   throws Error{kUnavailable}
//   sleep:MS    waits                                               pause   waits forever
// KEDGE_CONTROL=NAME breaks a promise on purpose, so that a test can be seen to notice.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace kedge::faults {

// Every place, once; "before" and "after" are two. A name that is not here does not compile.
inline constexpr std::array<std::string_view, 58> kNames = {
    "store.open.before",     "store.open.after",    "store.migrate.before",     "store.migrate.after",
    "store.recover.before",  "store.recover.after", "store.begin.before",       "store.begin.after",
    "store.commit.before",   "store.commit.after",  "store.insert.before",      "store.insert.after",
    "store.key.before",      "store.key.after",     "store.change.before",      "store.change.after",
    "store.result.before",   "store.result.after",  "store.append.before",      "store.append.after",
    "store.cancel.before",   "store.cancel.after",  "store.acknowledge.before", "store.acknowledge.after",
    "store.wake.before",     "store.wake.after",    "store.remove.before",      "store.remove.after",
    "job.submit.before",     "job.submit.after",    "job.fetch.before",         "job.fetch.after",
    "job.run.before",        "job.run.after",       "job.event.before",         "job.event.after",
    "job.done.before",       "job.done.after",      "job.failed.before",        "job.failed.after",
    "job.cancel.before",     "job.cancel.after",    "job.retry.before",         "job.retry.after",
    "worker.list.before",    "worker.list.after",   "worker.spawn.before",      "worker.spawn.after",
    "worker.send.before",    "worker.send.after",   "worker.receive.before",    "worker.receive.after",
    "worker.reap.before",    "worker.reap.after",   "dataset.sync.before",      "dataset.sync.after",
    "dataset.rename.before", "dataset.rename.after"};

// What a test can switch to the wrong way.
inline constexpr std::array<std::string_view, 36> kControls = {
    "acknowledge-before-commit",   // a submit is answered before it is on disk
    "publish-stale-results",       // leases are not compared
    "forget-interrupted-jobs",     // a restart does not queue them again
    "skip-event-numbers",          // a restart leaves a gap in a job's events
    "repeat-events",               // a stream that resumes repeats the last event
    "share-data-directory",        // a second server may use it
    "trust-the-store",             // a damaged store is not noticed at the start
    "forget-cancels",              // a cancel is acknowledged and not carried out
    "deaf-ops",                    // numerical operations do not see that their job is to stop
    "times-go-back",               // the times of a job's events follow a clock that is set back
    "retry-for-ever",              // a job that kills its worker is tried again and again
    "keep-slow-readers",           // a client that reads nothing may keep a stream forever
    "keep-dead-peers",             // a client that acknowledges nothing may, too
    "hide-gaps",                   // a stream does not say that events are no longer kept
    "ignore-scopes",               // a token may do everything
    "ignore-owners",               // every tenant has access to all jobs and models
    "ignore-shares",               // tenants' jobs run in the order in which they came
    "ignore-weights",              // every tenant has the same share
    "evict-what-is-used",          // the cache removes data sets that jobs use
    "fetch-anywhere",              // the server connects to any address
    "mix-versions",                // a download continues with the rest of another file
    "trust-the-cache",             // a damaged data set is not noticed
    "whole-lists",                 // lists of jobs contain their data, of any size
    "trust-web-pages",             // pages of other sites may call through a browser
    "predict-on-threads",          // a prediction that waits for its worker keeps a thread
    "unbounded-answers",           // answers that clients do not read may hold any memory
    "count-streams-late",          // a job is stored before its stream is counted
    "check-anywhere",              // long checks of jobs are done by the threads that serve cancels and reads
    "unbounded-checks",            // candidates may hold as much as they like
    "trust-counts",                // a model's lists get memory for as many things as they say
    "remove-shared-content",       // an upload's file is removed with the first of its owners
    "store-beyond-quotas",         // what tenants store is counted but not bounded
    "share-no-fetches",            // downloads run in the order of their arrival, not by tenant
    "serve-urls-to-all",           // what a URL led to is given to tenants that its server may refuse
    "keep-data-of-jobs",           // the data that came with a job stays when it has ended
    "name-every-column"};          // a column of libsvm is stored with its name

template <std::size_t N>
consteval std::size_t index_in(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return i;
  throw "no such fail point or control";
}

void pass(std::size_t point);   // does what the environment says
bool is_on(std::size_t control);

}  // namespace kedge::faults

#if KEDGE_FAIL_POINTS
#define KEDGE_FAIL_POINT(name) ::kedge::faults::pass(::kedge::faults::index_in(::kedge::faults::kNames, name))
#define KEDGE_CONTROL(name) ::kedge::faults::is_on(::kedge::faults::index_in(::kedge::faults::kControls, name))
#else
#define KEDGE_FAIL_POINT(name) static_cast<void>(0)
#define KEDGE_CONTROL(name) false
#endif
