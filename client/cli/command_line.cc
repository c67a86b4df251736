// Builds the tree from the rows of commands.cc, and says what is wrong with arguments.
#include "client/cli/command_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "client/cli/terminal.h"
#include "schemas/error.h"

namespace kedge::cli {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr const char* kVersionLine = "kedge " KEDGE_VERSION;

std::string indented(std::string_view lines) {
  std::string text = "  ";
  for (const char c : lines) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return text;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({}))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view near = schema::nearest_name(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

// "kedge models rm": the deepest command that the arguments reach.
const CLI::App& deepest(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : deepest(*parsed.back());
}
std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

// For the first argument that is not known.
Error unexpected(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  const std::string word = words.empty() ? "" : words.front();
  const CLI::App& command = deepest(app);
  const std::string name = full_name(command);
  if (word.starts_with("-")) {
    std::vector<std::string> known = names_of_options(command);
    if (&command != &app) std::ranges::copy(names_of_options(app), std::back_inserter(known));
    return Error(
        ErrorCode::kUnknownField,
        fmt::format("{} has no option '{}'{}", name, word, did_you_mean(word.substr(0, word.find('=')), known)), word);
  }
  if (&command == &app)
    return Error(ErrorCode::kUnknownField,
                 fmt::format("there is no command '{}'{} (`kedge help` lists them)", word,
                             did_you_mean(word, names_of_commands(app))),
                 word);
  return Error(
      ErrorCode::kUnknownField,
      fmt::format("{} takes no further argument '{}' (`kedge help{}` explains it)", name, word, name.substr(5)), word);
}

// Breaks what is long at the width of the terminal.
class WrappedHelp final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return broken(CLI::Formatter::make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    std::stringstream out;
    CLI::detail::format_help(out, sub->get_name(), broken(sub->get_description()), column_width_);
    return out.str();
  }

 private:
  // CLI11 puts the following lines below the first.
  std::string broken(const std::string& text) const {
    constexpr int kLeast = 24;
    const Page page = page_of(STDOUT_FILENO);
    if (page.columns == 0) return text;
    std::string lines;
    for (const std::string& line : wrapped(text, std::max(kLeast, page.columns - static_cast<int>(column_width_))))
      lines += (lines.empty() ? "" : "\n") + line;
    return lines;
  }
};

void add_general_options(CLI::App& app, Options& options) {
  CLI::Option* url =
      app.add_option(
             "--url", options.url,
             "The server (default: KEDGE_URL, or the one of `kedge use` or `kedge up`, or http://127.0.0.1:5334)")
          ->type_name("URL");
  app.add_option("--server", options.server, "The server that `kedge login` keeps under this name")
      ->type_name("NAME")
      ->excludes(url);
  app.add_flag("--json", options.json, "Print JSON: one document, or one on each line; errors as well");
  app.set_version_flag("--version", kVersionLine, "Print the version");
}

}   // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>("Runs scikit-learn pipelines on a Kedge server.", "kedge")) {
  app_->formatter(std::make_shared<WrappedHelp>());   // shared by CLI11 among the commands
  add_general_options(*app_, options_);
  app_->fallthrough();
  app_->require_subcommand(0, 1);   // that there is one is checked in words of our own
  app_->footer(
      "Begin with:\n  kedge doctor\n  kedge run examples/iris.json\n\n`kedge help COMMAND` explains a command, `kedge "
      "help --man` is the manual.");
  for (const Command& command : commands()) {
    CLI::App* sub = app_->add_subcommand(command.name, command.help)->group(command.group);
    sub->footer("Examples:\n" + indented(command.examples) +
                "\n\nEach command also takes --url, --server and --json: `kedge help`.");
    command.declare(*sub, options_);
    sub->callback([this, &command] { chosen_ = &command; });
  }
}
CommandLine::~CommandLine() = default;

const Command* CommandLine::parse(const std::vector<std::string>& arguments) try {
  options_.json =
      std::ranges::find(arguments, "--json") != arguments.end();   // also for what follows an argument that is wrong
  app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  if (!chosen_) throw Error(ErrorCode::kInvalidValue, "no command was given (`kedge help` lists them)");
  return chosen_;
} catch (const CLI::CallForHelp&) {
  text_ = app_->help();   // of the command that was reached
  return nullptr;
} catch (const CLI::CallForVersion&) {
  text_ = std::string(kVersionLine) + "\n";
  return nullptr;
} catch (const CLI::ExtrasError&) {
  throw unexpected(*app_);
} catch (const CLI::ParseError& error) {
  const std::string name = full_name(deepest(*app_));
  throw Error(ErrorCode::kInvalidValue, fmt::format("{} (`kedge help{}` explains it)", error.what(), name.substr(5)));
}

std::string CommandLine::help(const std::vector<std::string>& command) const {
  const CLI::App* app = app_.get();
  for (const std::string& word : command) {
    const std::vector<const CLI::App*> subs = app->get_subcommands({});
    const auto found = std::ranges::find(subs, word, [](const CLI::App* sub) { return sub->get_name(); });
    if (found == subs.end())
      throw Error(
          ErrorCode::kNotFound,
          fmt::format("{} has no command '{}'{}", full_name(*app), word, did_you_mean(word, names_of_commands(*app))),
          word);
    app = *found;
  }
  return app->help(app->get_parent() ? full_name(*app->get_parent()) : "");
}

}   // namespace kedge::cli
