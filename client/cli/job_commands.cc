// Submits, follows, lists and cancels jobs.
#include "client/cli/job_commands.h"

#include <fmt/core.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>

#include "client/cli/job_table.h"
#include "client/cli/machine_commands.h"
#include "client/cli/progress.h"
#include "client/cli/table.h"
#include "client/cli/target.h"
#include "client/cli/units.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

schema::JobSpec read_spec(const Options& options) {
  const std::string& path = options.argument;
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(path);
    if (!file) throw Error(schema::ErrorCode::kNotFound, fmt::format("cannot read the spec file {}", path));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  schema::JobSpec spec = schema::from_json<schema::JobSpec>(text);
  if (!options.device.empty()) spec.device = options.device;
  if (!options.register_as.empty()) spec.registerAs = options.register_as;
  return spec;
}

int exit_code(schema::JobState state) {
  if (state == schema::JobState::kSucceeded) return kSucceeded;
  return state == schema::JobState::kCancelled ? kCancelled : kFailed;
}

// The model and the files that a job has left, and how to use them.
void print_yield(const Session& session, const schema::Job& job) {
  if (const std::string& model = job.result->model; !model.empty()) {
    std::string size;
    try {
      size = "  " + size_text(session.model(model).info().bytes);
    } catch (const Error&) {   // it was deleted since
    }
    fmt::print("\nmodel {}{}\n", model, size);
    if (const std::string& version = job.result->registered; !version.empty())
      fmt::print("registered as {}\n", version);
    fmt::print(stderr, "  kedge predict {} rows.csv\n", model);
  }
  for (const schema::Artifact& artifact : job.result->artifacts) {
    fmt::print("\nartifact {}  {}\n", artifact.name, size_text(artifact.bytes));
    fmt::print(stderr, "  kedge download {} {}\n", job.id, artifact.name);
  }
}

// "job_01K has failed: ... [CODE]" for a job that has no result.
void explain_end(const schema::Job& job) {
  const std::string why = job.error ? fmt::format(": {} [{}]", job.error->message, schema::error_code_name(job.error->code))
                          : job.reason.empty() ? "" : fmt::format(": {}", job.reason);
  if (job.state == schema::JobState::kCancelled)
    fmt::print(stderr, "{} was cancelled{}{}, so it has no result\n", job.id, job.started.empty() ? " before it started" : "", why);
  else
    fmt::print(stderr, "{} has failed{}\n", job.id, why);
}

int print_outcome(const Session& session, const schema::Job& job, const Options& options) {
  if (options.json) {
    fmt::print("{}\n", schema::to_json(job));
  } else if (job.result) {
    fmt::print("{}", result_table(*job.result, page_of(STDOUT_FILENO)));
    print_yield(session, job);
  }
  if (job.error && !job.error->where.empty()) fmt::print(stderr, "at {}\n", job.error->where);
  return exit_code(job.state);
}

// An interrupted client leaves its job alone; this says how to find it again. Only async-signal-safe calls.
char interrupt_text[160];
void on_interrupt(int) {
  [[maybe_unused]] const auto n = write(STDERR_FILENO, interrupt_text, std::char_traits<char>::length(interrupt_text));
  _exit(130);
}

// One JSON document on its line, flushed at once, so that a program that reads the pipe need not wait for the next.
void print_line(const std::string& json) {
  fmt::print("{}\n", json);
  std::fflush(stdout);
}

// With --json the job's id, then its events.
int follow(const Session& session, const Job& job, std::int64_t after, const Options& options) {
  if (options.json) print_line(schema::value_to_json(schema::ValueMap{{"job", job.id()}}));
  const std::string text = fmt::format("\nthe job continues: kedge watch {0}, kedge cancel {0}\n", job.id());
  text.copy(interrupt_text, sizeof interrupt_text - 1);
  std::signal(SIGINT, on_interrupt);
  {
    ProgressDisplay display;
    for (const schema::Event& event : job.events(after)) {
      if (options.json) print_line(schema::to_json(event));
      else display.show(event);
    }
  }
  std::signal(SIGINT, SIG_DFL);
  const schema::Job ended = job.status();
  if (const std::string cost = cost_line(options); !cost.empty()) fmt::print(options.json ? stdout : stderr, "{}\n", cost);
  return options.json ? exit_code(ended.state) : print_outcome(session, ended, options);
}

}  // namespace

void check_spec(const Options& options) {
  if (options.argument != "-") read_spec(options);
}

int run(const Options& options) {
  if (!options.rent.on.empty()) return run_on(options);
  const Session session = connect_server(options);
  const Job job = session.submit(read_spec(options));
  fmt::print(stderr, "{}\n", job.id());
  return follow(session, job, 0, options);
}

int submit(const Options& options) {
  const Job job = connect_server(options).submit(read_spec(options));
  if (options.json) fmt::print("{}\n", schema::to_json(job.status()));
  else fmt::print("{}\n", job.id());
  return kSucceeded;
}

int watch(const Options& options) {
  const Session session = connect_server(options);
  return follow(session, session.job(options.argument), options.after, options);
}

int result(const Options& options) {
  const Session session = connect_server(options);
  const schema::Job job = session.job(options.argument).wait();
  if (!job.result) explain_end(job);
  return print_outcome(session, job, options);
}

int cancel(const Options& options) {
  const Job job = connect_server(options).job(options.argument);
  job.cancel();
  fmt::print(stderr, "{} is being cancelled\n", options.argument);
  if (options.json) fmt::print("{}\n", schema::to_json(job.status()));
  return kSucceeded;
}

int jobs(const Options& options) {
  const schema::JobPage page = connect_server(options).jobs(options.state, options.limit);
  fmt::print("{}", options.json ? schema::to_json(page) + "\n" : jobs_table(page.jobs, page_of(STDOUT_FILENO), unix_seconds()));
  if (!options.json && !page.nextPageToken.empty()) fmt::print(stderr, "the newest {}; there are more (--limit)\n", page.jobs.size());
  return kSucceeded;
}

}  // namespace kedge::cli
