// A JobService in memory for tests of the API: jobs do what the test says, and nothing else.
#pragma once

#include <string_view>

#include "server/jobs/job_service.h"

namespace kedge::tests {

// Stores an event of a job, as a worker would have caused it; a StateEvent and a ResultEvent change the job
// too.
void append_event(server::JobService& jobs, std::string_view id, schema::EventBody body);

// What ready() says; while it is false, submitted jobs cannot be stored.
void set_ready(server::JobService& jobs, bool ready);
// Whether a tenant may have one more job.
void set_room(server::JobService& jobs, bool has_room);

// While they are held, checks that take long (those of grid searches here) wait until they are released or stopped.
void hold_checks(server::JobService& jobs, bool held);
// How many long checks are being held, and how many have been stopped.
struct HeldChecks {
  std::size_t n_held = 0, n_stopped = 0;
};
HeldChecks held_checks(server::JobService& jobs);

// Forgets a job, as retention does.
void remove_job(server::JobService& jobs, std::string_view id);

// With what the last job was submitted.
server::SubmitOptions last_options(server::JobService& jobs);

// How often a job was looked up.
std::size_t lookup_count(server::JobService& jobs);

// Number of live subscriptions.
std::size_t subscriber_count(server::JobService& jobs);

}  // namespace kedge::tests
