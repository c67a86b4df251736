// The list of the subcommands of kedge, and what each of them gets.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace kedge::cli {

// Exit codes beside those of sysexits.h: the job succeeded, failed, was cancelled.
enum ExitCode { kSucceeded = 0, kFailed = 1, kCancelled = 2, kUsage = 64, kNoServer = 69 };

// What the options about rented machines fill in.
struct RentOptions {
  std::string on;                  // run --on: PROVIDER[:GPU]
  std::string gpu, region, provider, image;
  int gpus = 1;
  std::optional<double> max_price;   // USD an hour
  std::optional<double> max_spend, spend_cap;   // USD: of this machine, of all
  bool spot = false, spot_only = false, dry_run = false;
  double idle_s = 15 * 60, life_s = 8 * 3600, boot_limit_s = 600;
  bool all = false;                // down --all
};

// What the options of all commands fill in.
struct Options {
  std::string url;
  std::string token, pin;      // of a rented machine; else from the environment
  RentOptions rent;
  bool json = false;
  std::string argument;        // spec file, job id, estimator name or machine, as the command declares
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
