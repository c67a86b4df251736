// The list of the subcommands of kedge, and what each of them gets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kedge::cli {

// Exit codes in addition to those of sysexits.h: the job succeeded, failed, was cancelled.
enum ExitCode { kSucceeded = 0, kFailed = 1, kCancelled = 2, kUsage = 64, kNoServer = 69 };

// What the options about rented machines fill in.
struct RentOptions {
  std::string on;                  // run --on: PROVIDER[:GPU]
  std::string gpu, region, provider, image;
  int gpus = 1;
  int nodes = 1;                     // up --nodes: more than one is a gang
  bool cluster = false;              // up --cluster
  std::optional<double> max_price;   // USD an hour
  std::optional<double> max_spend, spend_cap;   // USD: of this machine, of all
  bool spot = false, spot_only = false, dry_run = false;
  double idle_s = 15 * 60, life_s = 8 * 3600, boot_limit_s = 600;
  bool all = false;                // down --all
};

// What the options of all commands fill in.
struct Options {
  std::string url, server;     // --url, and --server: the name of one that `kedge login` has kept
  std::string token, pin;      // of a rented machine; otherwise from the environment
  RentOptions rent;
  bool json = false;
  std::string action;                                                        // registry, models: the verb
  std::optional<std::int64_t> max_batch_rows, max_delay_us, log_max_bytes;   // models serving
  std::optional<double> log_fraction;                                        // models serving
  bool reset = false;                                                        // models drift
  std::string argument;        // spec file, job id, estimator name, server or machine, as the command declares
  std::vector<std::string> arguments;   // help COMMAND ..., models rm ID ..., registry tag KEY=VALUE ..., map SPEC ...
  std::vector<std::string> servers;     // map --servers: names of servers that are kept
  int in_flight = 4;                    // map --in-flight
  bool as_they_come = false;            // map --as-they-come
  std::string state;           // jobs --state
  std::string register_as;     // run --register, submit --register
  std::string device;          // run --device, submit --device
  std::int64_t after = 0;      // watch --after
  int limit = 20;              // jobs --limit
  int rows = 10;               // data show --rows
  std::string input;           // predict: the rows; models --upload
  std::string output = "predict";            // predict --output
  std::string file;                          // models --download, download -o, map --journal
  std::string artifact;        // download
  bool remove = false;         // models --delete
  std::string upload, name, format, forget;   // datasets; name: login --name, format: download --as, too
  std::string token_file;      // login
  bool none = false;           // use --none
  bool man = false;            // help --man
  double wait_s = 10;          // doctor --wait
  bool waits_for_server = false;   // it was given
  bool gpu = false;            // doctor --gpu
  bool cluster = false;        // doctor --cluster; `file` is its --config
  int port = 5335;             // host-exec --port; `file` is its --key, `arguments` the host and the command
  std::string new_key;         // host-agent --new-key
  std::string listen = ":5335";         // host-agent --listen
  std::vector<std::string> allowed{};   // host-agent --allow
  double agent_idle_s = 0, agent_life_s = 0;   // host-agent --idle-end, --life-end; 0: never
};

// One subcommand. `declare` adds its arguments; `run` does it and returns the exit code. Data goes to stdout, talk to stderr.
struct Command {
  const char* name;
  const char* group;      // its heading in the list of commands
  const char* help;
  const char* examples;   // one on each line, as it is typed
  void (*declare)(CLI::App& app, Options& options);
  int (*run)(const Options& options);
};

std::span<const Command> commands();

}  // namespace kedge::cli
