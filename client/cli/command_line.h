// The command line of kedge: the subcommands of commands.cc as one tree, which parses arguments and explains itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace kedge::cli {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;

  // The chosen command; null for --help and --version, whose output is text(). Errors: kUnknownField for what no
  // command knows, with the nearest name, and kInvalidValue; options().json holds by then.
  const Command* parse(const std::vector<std::string>& arguments);
  const Options& options() const { return options_; }
  const std::string& text() const { return text_; }

  // What --help prints of a command, such as {"models", "rm"}; of all for {}. kNotFound, with the nearest name.
  std::string help(const std::vector<std::string>& command) const;
  const CLI::App& tree() const { return *app_; }

 private:
  std::unique_ptr<CLI::App> app_;
  Options options_;
  const Command* chosen_ = nullptr;
  std::string text_;
};

}   // namespace kedge::cli
