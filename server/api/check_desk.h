// Where job descriptions are checked whose check may take long: on threads of its own, so that reads, cancels and health never wait for one.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "schemas/job.h"
#include "server/http/peer.h"
#include "server/jobs/job_service.h"

namespace kedge::server::api {

// How many checks may wait or run, in all and of one tenant.
struct CheckBounds {
  std::size_t threads = 2;
  std::size_t in_all = 64;
  std::size_t per_tenant = 8;
};

// Used on the loop's thread. Must not outlive the job service; its destructor waits for checks that run.
class CheckDesk {
 public:
  explicit CheckDesk(JobService& jobs, CheckBounds bounds = {});
  ~CheckDesk();

  // The description, when it has passed JobService::validate(), which is stopped when the client goes or the server stops. Errors: those of
  // validate(); kTooManyRequests and kUnavailable beyond the bounds; kUnavailable when the server stops.
  http::net::awaitable<schema::JobSpec> checked(std::shared_ptr<http::Peer> peer, std::string tenant, schema::JobSpec spec);

  std::size_t size() const;   // checks that wait or run; on any thread

 private:
  struct Check;
  std::shared_ptr<void> enter(const std::string& tenant);   // counts one until the handle goes, on any thread
  void leave(const std::string& tenant);

  JobService& jobs_;
  const CheckBounds bounds_;
  mutable std::mutex mutex_;   // of the counts
  std::size_t n_all_ = 0;
  std::map<std::string, std::size_t> n_by_tenant_;
  http::net::thread_pool threads_;   // last: joined before the rest goes
};

}  // namespace kedge::server::api
