// A process that hosts a job service, to be killed by tests: submits jobs without end, prints each acknowledged id.
//
// Usage: kedge_jobs_host DATA-DIR WORKER
#include <unistd.h>

#include <string>

#include "tests/support/jobs_service.h"

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  using namespace kedge;
  server::JobService service(tests::service_options(argv[1], argv[2]));
  while (true) {
    const std::string line = tests::submit(service, tests::job_spec("Succeed")).id + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
  }
}
