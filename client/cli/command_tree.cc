// Reads CLI11's tree.
#include "client/cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace kedge::cli {
namespace {

// CLI11 appends to the type what its validators take: "WHAT:{predict,transform}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find(":{"), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 2, close - open - 2), ',');
}

ArgumentWords describe(const CLI::Option& option) {
  ArgumentWords words{.help = option.get_description(), .is_required = option.get_required()};
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  if (option.get_positional()) words.names = {option.get_name(true)};
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) words.value = type.substr(0, type.find(":{"));
  words.choices = choices_in(type);
  return words;
}

}   // namespace

CommandWords describe(const CLI::App& app) {
  CommandWords words{
      .name = app.get_name(), .group = app.get_group(), .help = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options({}))
    (option->get_positional() ? words.positionals : words.options).push_back(describe(*option));
  for (const CLI::App* sub : app.get_subcommands({})) words.commands.push_back(describe(*sub));
  return words;
}

bool takes_file(const ArgumentWords& argument) {
  return argument.value == "FILE";
}

std::vector<std::string> option_names(const CommandWords& command) {
  std::vector<std::string> names;
  for (const ArgumentWords& option : command.options) std::ranges::copy(option.names, std::back_inserter(names));
  return names;
}

}   // namespace kedge::cli
