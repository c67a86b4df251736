// run --on: a machine for one job. The job is followed by a child process, so that we give the machine back even if
// that process crashes.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "client/cli/job_commands.h"
#include "client/cli/machine_commands.h"
#include "client/cli/rental.h"
#include "client/cli/report.h"
#include "provisioning/interrupt.h"

namespace kedge::cli {
namespace {

using namespace provisioning;

Options on_machine(Options options, const Intent& intent) {
  options.server.clear();
  options.url = intent.url();
  options.token = intent.identity.token;
  options.pin = intent.identity.pin;
  options.rent.on.clear();
  return options;
}

[[noreturn]] void follow_in_child(const Options& options) {
  std::signal(SIGTERM, SIG_DFL);
  int code = kFailed;
  try {
    code = run(options);
  } catch (const schema::Error& error) {
    code = report(error, options);
  }
  std::fflush(nullptr);
  _exit(code);
}

// Waits for the child, and renews the lease meanwhile.
int wait_for(pid_t child, Intent intent, Rental& rental) {
  constexpr std::int64_t kRenew_s = 60;
  for (int status = 0;;) {
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (const std::int64_t now = rental.clock.unix_seconds(); now - intent.lease.renewed >= kRenew_s) {
      intent.lease.renewed = now;
      rental.store.put(intent);
    }
    try {
      rental.clock.sleep(std::chrono::milliseconds(50));
    } catch (const schema::Error&) {   // interrupted: the child as well, by the terminal or by us
      kill(child, SIGINT);
      forget_interrupt();
    }
  }
}

void split_target(const std::string& target, RentOptions& rent) {
  const std::size_t colon = target.find(':');
  rent.provider = target.substr(0, colon);
  if (colon != std::string::npos) rent.gpu = target.substr(colon + 1);
}

}  // namespace

int run_on(const Options& options) {
  const InterruptGuard guard;
  Options rented = options;
  split_target(options.rent.on, rented.rent);
  check_spec(options);   // before anything costs money
  Rental rental(Rental::Reach::kRent, rented.rent.provider, options.json);
  UpOptions wanted = up_options(rented);
  check_image(wanted);
  wanted.one_job = true;
  wanted.keep_after_interrupt = nullptr;
  UpResult result = rental.controller.up(wanted);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    result.lock.reset();   // ours alone: a sweeper must see that we are dead although our child is not
    follow_in_child(on_machine(options, result.intent));
  }
  const int code = child < 0 ? kFailed : wait_for(child, result.intent, rental);
  const bool gone = rental.controller.end(result.intent, "its job has ended");
  if (options.json) fmt::print("{}\n", cost_json(result.intent, rental.clock.unix_seconds()));
  fmt::print(stderr, "{}: {}; {:.4f} USD\n", machine_line(result.intent),
             gone ? "ended" : "told to end, not ended yet: `kedge machines gc` continues",
             cost_so_far(result.intent, rental.clock.unix_seconds()));
  return code;
}

}  // namespace kedge::cli
