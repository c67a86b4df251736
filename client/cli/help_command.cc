// What kedge says about itself.
#include "client/cli/help_command.h"

#include <fmt/core.h>

#include "client/cli/command_line.h"
#include "client/cli/completion.h"
#include "client/cli/manual.h"
#include "client/cli/report.h"
#include "schemas/codec.h"

namespace kedge::cli {

int help(const Options& options) {
  const CommandLine line;
  print_text(options.man ? manual_page(describe(line.tree()), KEDGE_VERSION) : line.help(options.arguments), options);
  return kSucceeded;
}

int print_version(const Options& options) {
  if (options.json)
    fmt::print("{}\n", schema::value_to_json(schema::Value(schema::ValueMap{{"version", KEDGE_VERSION}})));
  else fmt::print("kedge {}\n", KEDGE_VERSION);
  return kSucceeded;
}

int completion(const Options& options) {
  const CommandLine line;
  const CommandWords tree = describe(line.tree());
  const auto write = options.argument == "bash"  ? bash_completion
                     : options.argument == "zsh" ? zsh_completion
                                                 : fish_completion;
  print_text(write(tree), options);
  return kSucceeded;
}

}   // namespace kedge::cli
