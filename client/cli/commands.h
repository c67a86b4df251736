// The list of the subcommands of kedge, and what each of them gets.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace kedge::cli {

// Exit codes beside those of sysexits.h: the job succeeded, failed, was cancelled.
enum ExitCode { kSucceeded = 0, kFailed = 1, kCancelled = 2, kUsage = 64, kNoServer = 69 };

// What the options of all commands fill in.
struct Options {
  std::string url;
  bool json = false;
  std::string argument;        // spec file, job id or estimator name, as the command declares
  std::string state, after;    // jobs --state, watch --after
  int limit = 20;              // jobs --limit
  std::string input;           // predict: the rows
  std::string output = "predict";            // predict --output
  std::string file;            // models --download, --upload
  bool remove = false;         // models --delete
  std::string upload, name, format, forget;   // datasets
};

// One subcommand. `declare` adds its arguments; `run` does it and returns the exit code. Data goes to stdout, talk to stderr.
struct Command {
  const char* name;
  const char* help;
  void (*declare)(CLI::App& app, Options& options);
  int (*run)(const Options& options);
};

std::span<const Command> commands();

}  // namespace kedge::cli
