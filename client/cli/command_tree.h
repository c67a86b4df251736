// The command line as plain words, which completions and the manual are written from, so that they cannot drift from
// what is parsed.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kedge::cli {

struct ArgumentWords {
  std::vector<std::string> names;     // "--out", "-o"; of a positional argument its one name, without dashes
  std::string value;                  // what it takes, such as "FILE"; empty: a switch
  std::vector<std::string> choices;   // all that it takes; empty: anything
  std::string help;
  bool is_required = false;
};

struct CommandWords {
  std::string name, group, help, footer;
  std::vector<ArgumentWords> options, positionals;
  std::vector<CommandWords> commands;
};

CommandWords describe(const CLI::App& app);

// Names and values that a completion offers.
bool takes_file(const ArgumentWords& argument);
std::vector<std::string> option_names(const CommandWords& command);

}   // namespace kedge::cli
