// Starts kedged's check of a cluster: see cluster_doctor.h.
#include "client/cli/cluster_doctor.h"

#include <fmt/core.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/report.h"
#include "client/cli/target.h"
#include "kedge/session.h"
#include "provisioning/json.h"
#include "provisioning/process.h"
#include "provisioning/providers.h"

namespace kedge::cli {
namespace {

constexpr std::chrono::hours kMost{4};   // kedged sets an alarm by the number of ranks, at most 4096
constexpr int kEndedByAlarm = 128 + SIGALRM;

schema::Error missing(const std::filesystem::path& program) {
  return {
      schema::ErrorCode::kNotFound,
      fmt::format("{} is not there: it comes with the server. Run `kedge doctor --cluster` on the machine of kedged; "
                  "`kedge doctor` asks a server about its devices",
                  program.string())};
}

// The ranks did not come together, or did not end.
schema::Error no_report(const provisioning::Outcome& outcome) {
  std::string words = provisioning::complaint(outcome);
  if (words.empty()) words = fmt::format("the launcher said nothing and ended with exit code {}", outcome.status);
  if (outcome.status == kEndedByAlarm) words = "the launcher did not end in time: " + words;
  return {schema::ErrorCode::kUnavailable, std::move(words)};
}

bool has_settings_here(const Options& options) {
  const auto is_set = [](const char* name) { return provisioning::environment_variable(name).has_value(); };
  return !options.file.empty() || is_set("KEDGE_CONFIG") || is_set("KEDGE_CLUSTER_RANKS");
}

// Of a report in either form.
bool is_well(const std::string& report, bool is_json) {
  if (!is_json) return report.ends_with("all well\n");
  return provisioning::json::truth(provisioning::json::parse(report), "well");
}

int ask_server(const Options& options) {
  const std::string report = connect_server(options).check_cluster(options.json);
  fmt::print("{}", report);
  return is_well(report, options.json) ? kSucceeded : kFailed;
}

}   // namespace

int cluster_doctor(const Options& options) {
  if (!has_settings_here(options)) return ask_server(options);
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedged";
  std::error_code ignored;
  if (!std::filesystem::exists(program, ignored)) return report(missing(program), options);
  std::vector<std::string> arguments{program.string(), "check-cluster"};
  if (options.json) arguments.emplace_back("--json");
  if (!options.file.empty()) arguments.insert(arguments.end(), {"--config", options.file});
  const provisioning::Outcome outcome = provisioning::run_program(arguments, {}, kMost);
  if (outcome.out.empty()) return report(no_report(outcome), options);
  fmt::print("{}", outcome.out);
  if (outcome.status != 0) fmt::print(stderr, "{}", outcome.err);
  return outcome.status == 0 ? kSucceeded : kFailed;
}

}   // namespace kedge::cli
