// Hands checks to threads of their own and watches for clients that go meanwhile.
#include "server/api/check_desk.h"

#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <stop_token>
#include <utility>

#include "schemas/error.h"

namespace kedge::server::api {

using http::Peer;
using schema::Error;
using schema::ErrorCode;

// Shared by the handler that waits and the thread that checks; the last of the two frees it.
struct CheckDesk::Check {
  schema::JobSpec spec;
  std::shared_ptr<void> place;
  std::stop_source stop = {};
  std::exception_ptr error = {};
  std::atomic<bool> is_done = false;

  void run(const JobService& jobs) noexcept {
    try {
      jobs.validate(spec, stop.get_token());
    } catch (...) {
      error = std::current_exception();
    }
    place.reset();
    is_done = true;
  }
};

CheckDesk::CheckDesk(JobService& jobs, CheckBounds bounds) : jobs_(jobs), bounds_(bounds), threads_(bounds.threads) {}

CheckDesk::~CheckDesk() { threads_.join(); }

std::shared_ptr<void> CheckDesk::enter(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  const auto mine = n_by_tenant_.find(tenant);
  if (mine != n_by_tenant_.end() && mine->second >= bounds_.per_tenant)
    throw Error(ErrorCode::kTooManyRequests, fmt::format("{} large jobs of yours are being checked, at most {} may be at once", mine->second,
                                                         bounds_.per_tenant));
  if (n_all_ >= bounds_.in_all)
    throw Error(ErrorCode::kUnavailable, fmt::format("{} large jobs are being checked, at most {} may be at once", n_all_, bounds_.in_all));
  ++n_all_, ++n_by_tenant_[tenant];
  return std::shared_ptr<void>(this, [tenant](void* self) { static_cast<CheckDesk*>(self)->leave(tenant); });
}

std::size_t CheckDesk::size() const {
  const std::lock_guard lock(mutex_);
  return n_all_;
}

void CheckDesk::leave(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  --n_all_;
  if (--n_by_tenant_[tenant] == 0) n_by_tenant_.erase(tenant);
}

http::net::awaitable<schema::JobSpec> CheckDesk::checked(std::shared_ptr<Peer> peer, std::string tenant, schema::JobSpec spec) {
  const auto check = std::make_shared<Check>(std::move(spec), enter(tenant));
  struct Stop {   // a frame can go before its wait is over
    Check& check;
    ~Stop() { check.stop.request_stop(); }
  } const at_the_end{*check};
  http::net::post(threads_, [check, &jobs = jobs_, bell = peer->bell()] {
    check->run(jobs);
    bell->ring();
  });
  while (!check->is_done) {
    co_await peer->wait_until(Peer::Clock::time_point::max());
    if (peer->gone() || peer->stopping()) check->stop.request_stop();
  }
  if (check->stop.stop_requested())
    throw Error(ErrorCode::kUnavailable, "the job was not checked: the server stops or the client has disconnected");
  if (std::exception_ptr error = std::exchange(check->error, nullptr)) std::rethrow_exception(std::move(error));
  co_return std::move(check->spec);
}

}  // namespace kedge::server::api
