// Starts kedge-gpu-check: the client itself knows nothing of devices.
#include "client/cli/gpu_doctor.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "client/cli/report.h"
#include "provisioning/process.h"

namespace kedge::cli {
namespace {

constexpr int kSeconds = 60;
constexpr int kMostSeconds = 120;   // it keeps to its time itself, unless the driver does not answer
constexpr int kHasNoGpu = 69, kHasFoundDifferences = 1;

schema::Error missing(const std::filesystem::path& program) {
  return {
      schema::ErrorCode::kNotFound,
      fmt::format("{} is not there: it comes with the server. Run `kedge doctor --gpu` on the machine with the GPU; "
                  "`kedge doctor` asks a server about its devices",
                  program.string())};
}

}   // namespace

int gpu_doctor(const Options& options) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedge-gpu-check";
  std::error_code ignored;
  if (!std::filesystem::exists(program, ignored)) return report(missing(program), options);
  std::vector<std::string> arguments{program.string(), "--quiet", "--seconds", std::to_string(kSeconds)};
  if (options.json) arguments.insert(arguments.end(), {"--json", "-"});
  else fmt::print(stderr, "checking the GPU of this machine, for at most {} s\n", kSeconds);
  const provisioning::Outcome outcome = provisioning::run_program(arguments, {}, std::chrono::seconds(kMostSeconds));
  const bool has_an_answer =
      outcome.status == 0 || outcome.status == kHasFoundDifferences || outcome.status == kHasNoGpu;
  if (!has_an_answer || outcome.out.empty())
    return report({schema::ErrorCode::kInternal, "kedge-gpu-check: " + provisioning::complaint(outcome)}, options);
  fmt::print("{}", outcome.out);
  return outcome.status == 0 ? kSucceeded : kFailed;
}

}   // namespace kedge::cli
