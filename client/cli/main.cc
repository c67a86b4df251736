// kedge: describe a pipeline in a file, ship it to a server, follow it, read the result.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "client/cli/commands.h"
#include "client/cli/target.h"
#include "schemas/error.h"

namespace {

using namespace kedge::cli;

int report(const kedge::schema::Error& error, const Options& options) {
  const std::string code(kedge::schema::error_code_name(error.code));
  const std::string place = error.where.empty() ? "" : " at " + error.where;
  std::fprintf(stderr, "kedge: %s [%s%s]\n", error.what(), code.c_str(), place.c_str());
  if (error.code != kedge::schema::ErrorCode::kConnection) return kFailed;
  if (speaks_to_current_machine(options))
    std::fprintf(stderr, "It is the current machine: `kedge machines` says whether it is still there, `kedge up` rents another.\n");
  return kNoServer;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs scikit-learn pipelines on a Kedge server."};
  Options options;
  app.add_option("--url", options.url, "The server; else KEDGE_URL, else http://127.0.0.1:5334");
  app.add_flag("--json", options.json, "Print JSON instead of text");
  app.require_subcommand(1);
  app.fallthrough();
  const Command* chosen = nullptr;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    command.declare(*sub, options);
    sub->callback([&chosen, &command] { chosen = &command; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSucceeded : kUsage;
  }
  try {
    return chosen->run(options);
  } catch (const kedge::schema::Error& error) {
    return report(error, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kedge: %s\n", error.what());
    return kFailed;
  }
}
