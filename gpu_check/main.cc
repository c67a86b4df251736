// kedge-gpu-check: measures a GPU and compares what it computes with what the CPU does.
#include <fmt/core.h>
#include <sys/prctl.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "engine/core/require.h"
#include "engine/version.h"
#include "gpu_check/report.h"
#include "gpu_check/supervisor.h"
#include "schemas/codec.h"

namespace {

using namespace kedge;
using namespace kedge::gpu_check;

enum ExitCode { kAgrees = 0, kDiffers = 1, kUsage = 64, kNoGpu = 69 };

struct Output {
  std::string json, markdown;   // files; "-": standard output, in place of the line
  bool quiet = false;
};

void write(const std::string& file, const std::string& text) {
  if (file == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream out(file);
  out << text << std::flush;
  engine::require(out.good(), schema::ErrorCode::kInternal, "{} cannot be written", file);
}

const Section& section_named(const std::string& name, const std::vector<Section>& all) {
  const auto found = std::ranges::find(all, name, &Section::name);
  engine::require(found != all.end(), schema::ErrorCode::kInvalidValue, "there is no section \"{}\": --list has them",
                  name);
  return *found;
}

void list_sections() {
  for (const Section& section : sections()) fmt::print("{:<12}{}\n", section.name, section.what);
}

int check(const Plan& plan, const Output& output) {
  const std::vector<Section> all = sections();
  for (const std::string& name : plan.only) section_named(name, all);
  const Report report = run_sections(plan);
  if (!output.json.empty()) write(output.json, schema::value_to_json(value_of(report)) + "\n");
  if (!output.markdown.empty()) write(output.markdown, markdown_of(report));
  if (output.json != "-" && output.markdown != "-") fmt::print("{}\n", line_of(report));
  if (!report.unavailable.empty()) return kNoGpu;
  return report.agrees() ? kAgrees : kDiffers;
}

}   // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures a GPU and compares what it computes with what the CPU does: every op, every estimator. The last line says whether "
      "they agree. Exit code: 0 they do, 1 they differ or nothing was checked, 64 wrong arguments, 69 no GPU.",
      "kedge-gpu-check");
  Plan plan;
  Output output;
  bool list = false;
  std::string section;
  std::int64_t skip = 0;
  app.add_option("--device", plan.device, "Device to check: cuda or cuda:N")->capture_default_str();
  app.add_option("--seconds", plan.seconds, "How long it may take; what is most valuable comes first")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_option("--item-seconds", plan.item_seconds, "A check that takes longer is ended and has failed")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--only", plan.only, "Only these sections")->type_name("SECTION ...");
  app.add_option("--items", plan.items, "Only the checks whose names contain this")->type_name("TEXT");
  app.add_option("--json", output.json, "Write the report as JSON; -: to standard output")->type_name("FILE");
  app.add_option("--markdown", output.markdown, "Write the report as Markdown; -: to standard output")
      ->type_name("FILE");
  app.add_flag("--quiet", output.quiet, "Do not say how far it is");
  app.add_flag("--list", list, "List the sections");
  app.add_option("--section", section)->group("");   // of its own processes
  app.add_option("--skip", skip)->group("");
  app.set_version_flag("--version", kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAgrees : kUsage;
  }
  plan.tells = !output.quiet;
  try {
    if (list) return list_sections(), kAgrees;
    if (section.empty()) return check(plan, output);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);   // a tool may stand between
    const std::vector<Section> all = sections();
    return run_items(section_named(section, all), plan, skip);
  } catch (const schema::Error& error) {
    fmt::print(stderr, "kedge-gpu-check: {}\n", error.message);
    return error.code == schema::ErrorCode::kInvalidValue ? kUsage : kDiffers;
  }
}
