// run, submit, watch, jobs, result, cancel: what one does with jobs.
#include "client/cli/job_commands.h"

#include <fmt/core.h>

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>

#include "client/cli/machine_commands.h"
#include "client/cli/progress.h"
#include "client/cli/table.h"
#include "client/cli/target.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

schema::JobSpec read_spec(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(path);
    if (!file) throw Error(schema::ErrorCode::kNotFound, fmt::format("cannot read the spec file {}", path));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  return schema::from_json<schema::JobSpec>(text);
}

int exit_code(schema::JobState state) {
  if (state == schema::JobState::kSucceeded) return kSucceeded;
  return state == schema::JobState::kCancelled ? kCancelled : kFailed;
}

int print_outcome(const schema::Job& job, const Options& options) {
  if (options.json) fmt::print("{}\n", schema::to_json(job));
  else if (job.result) fmt::print("{}", result_table(*job.result));
  if (job.error && !job.error->where.empty()) fmt::print(stderr, "at {}\n", job.error->where);
  return exit_code(job.state);
}

// An interrupted client leaves its job alone; this says how to find it again. Only async-signal-safe calls.
char interrupt_text[160];
void on_interrupt(int) {
  [[maybe_unused]] const auto n = write(STDERR_FILENO, interrupt_text, std::char_traits<char>::length(interrupt_text));
  _exit(130);
}

int follow(const Job& job, std::int64_t after, const Options& options) {
  const std::string text = fmt::format("\nthe job goes on: kedge watch {0}, kedge cancel {0}\n", job.id());
  text.copy(interrupt_text, sizeof interrupt_text - 1);
  std::signal(SIGINT, on_interrupt);
  {
    ProgressDisplay display;
    for (const schema::Event& event : job.events(after)) {
      if (options.json) fmt::print("{}\n", schema::to_json(event)), std::fflush(stdout);
      else display.show(event);
    }
  }
  std::signal(SIGINT, SIG_DFL);
  const schema::Job ended = job.status();
  if (const std::string cost = cost_line(options); !cost.empty()) fmt::print(options.json ? stdout : stderr, "{}\n", cost);
  return options.json ? exit_code(ended.state) : print_outcome(ended, options);
}

}  // namespace

void check_spec(const Options& options) {
  if (options.argument != "-") read_spec(options.argument);
}

int run(const Options& options) {
  if (!options.rent.on.empty()) return run_on(options);
  const Job job = connect_server(options).submit(read_spec(options.argument));
  fmt::print(stderr, "{}\n", job.id());
  return follow(job, 0, options);
}

int submit(const Options& options) {
  const Job job = connect_server(options).submit(read_spec(options.argument));
  if (options.json) fmt::print("{}\n", schema::to_json(job.status()));
  else fmt::print("{}\n", job.id());
  return kSucceeded;
}

int watch(const Options& options) {
  return follow(connect_server(options).job(options.argument), options.after.empty() ? 0 : std::stoll(options.after), options);
}

int result(const Options& options) {
  return print_outcome(connect_server(options).job(options.argument).wait(), options);
}

int cancel(const Options& options) {
  connect_server(options).job(options.argument).cancel();
  fmt::print(stderr, "{} is being cancelled\n", options.argument);
  return kSucceeded;
}

int jobs(const Options& options) {
  const schema::JobPage page = connect_server(options).jobs(options.state, options.limit);
  if (options.json) {
    fmt::print("{}\n", schema::to_json(page));
    return kSucceeded;
  }
  fmt::print("{:<32}{:<12}{:<26}{}\n", "id", "state", "created", "pipeline");
  for (const schema::Job& job : page.jobs) {
    std::string steps;
    for (const schema::Step& step : job.spec.pipeline) steps += (steps.empty() ? "" : " | ") + step.estimator;
    fmt::print("{:<32}{:<12}{:<26}{}\n", job.id, schema::job_state_name(job.state), job.created, steps);
  }
  return kSucceeded;
}

}  // namespace kedge::cli
