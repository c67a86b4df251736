// The command line: what it refuses, what it explains, and what completions and the manual say of it.
#include "client/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "client/cli/command_tree.h"
#include "client/cli/completion.h"
#include "client/cli/manual.h"
#include "client/cli/report.h"
#include "schemas/codec.h"
#include "schemas/error.h"

namespace kedge::cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string refusal(const Words& arguments) {
  try {
    CommandLine().parse(arguments);
    return "nothing is wrong";
  } catch (const schema::Error& error) {
    return error.message;
  }
}

TEST(CommandLine, EachCommandHasExamplesThatItTakes) {
  for (const Command& command : commands()) {
    std::istringstream lines(command.examples);
    int n_examples = 0;
    for (std::string line; std::getline(lines, line); ++n_examples) {
      Words words = words_of(line);
      ASSERT_GE(words.size(), 2u) << line;
      EXPECT_EQ(words[0], "kedge") << line;
      words.erase(words.begin());
      CommandLine parser;
      const Command* chosen = nullptr;
      ASSERT_NO_THROW(chosen = parser.parse(words)) << line;
      ASSERT_NE(chosen, nullptr) << line;
      EXPECT_STREQ(chosen->name, command.name) << line;
    }
    EXPECT_GE(n_examples, 1) << command.name;
    EXPECT_THAT(CommandLine().help({command.name}), HasSubstr("Examples:\n  kedge " + std::string(command.name)));
  }
}

void each(const CommandWords& command, const std::function<void(const CommandWords&, const ArgumentWords&)>& visit) {
  for (const ArgumentWords& argument : command.options) visit(command, argument);
  for (const ArgumentWords& argument : command.positionals) visit(command, argument);
  for (const CommandWords& inner : command.commands) each(inner, visit);
}

CommandWords tree() {
  const CommandLine line;
  return describe(line.tree());
}

TEST(CommandLine, EachArgumentSaysWhatItTakesInWhichUnitAndWithinWhichBounds) {
  each(tree(), [](const CommandWords& command, const ArgumentWords& argument) {
    const std::string where = command.name + " " + argument.names.front();
    EXPECT_FALSE(argument.help.empty()) << where;
    for (const char* type : {"TEXT", "INT", "UINT", "FLOAT"})
      EXPECT_THAT(argument.value, Not(HasSubstr(type))) << where;
    if (argument.value == "TIME") {
      EXPECT_THAT(argument.help, AllOf(HasSubstr(" to "), HasSubstr("a number without a unit counts "), HasSubstr("(default "))) << where;
    }
    if (argument.value == "N" || argument.value == "USD") {
      EXPECT_THAT(argument.help, AnyOf(HasSubstr(" to "), HasSubstr("at least "))) << where;
    }
  });
}

TEST(CommandLine, NamesTheNearestCommandAndOption) {
  EXPECT_THAT(refusal({"rum"}), HasSubstr("there is no command 'rum'; did you mean 'run'?"));
  EXPECT_THAT(refusal({"jobs", "--limt", "3"}),
              HasSubstr("kedge jobs has no option '--limt'; did you mean '--limit'?"));
  EXPECT_THAT(refusal({"jobs", "--jsn"}), HasSubstr("did you mean '--json'?"));
  EXPECT_THAT(refusal({"models", "rm", "mdl_1", "--al"}), HasSubstr("kedge models rm has no option '--al'"));
  EXPECT_THAT(refusal({"version", "jobs"}), HasSubstr("kedge version takes no further argument 'jobs'"));
  EXPECT_THAT(refusal({"result"}), AllOf(HasSubstr("job is required"), HasSubstr("`kedge help result`")));
  EXPECT_THAT(refusal({"--json"}), HasSubstr("no command was given"));
  EXPECT_THAT(refusal({"jobs", "--limit", "501"}), HasSubstr("1 to 500"));
  EXPECT_THAT(refusal({"watch", "job_1", "--after", "x"}), HasSubstr("--after"));
  EXPECT_EQ(refusal({"jobs", "--limit", "500"}), "nothing is wrong");
}

TEST(CommandLine, KnowsThatJsonIsWantedAlsoWhenTheRestIsWrong) {
  for (const Words& wrong :
       {Words{"rum", "--json"}, Words{"--json", "jobs", "--limt"}, Words{"jobs", "--limit", "0", "--json"}}) {
    CommandLine line;
    EXPECT_THROW(line.parse(wrong), schema::Error);
    EXPECT_TRUE(line.options().json);
  }
}

TEST(CommandLine, ExplainsItselfAndItsVersion) {
  CommandLine line;
  EXPECT_EQ(line.parse({"--version"}), nullptr);
  EXPECT_THAT(line.text(), HasSubstr("kedge "));
  CommandLine other;
  EXPECT_EQ(other.parse({"models", "rm", "--help"}), nullptr);
  EXPECT_THAT(other.text(), HasSubstr("Usage: kedge models rm"));
  EXPECT_EQ(CommandLine().help({"models", "rm"}), other.text());
  for (const Command& command : commands())
    EXPECT_THAT(CommandLine().help({}), HasSubstr(command.help)) << command.name;
  EXPECT_THROW(CommandLine().help({"modles"}), schema::Error);
}

TEST(CommandLine, OldFormsStillWork) {
  for (const char* line : {"models mdl_1 --delete", "models mdl_1 --download f", "models --upload f",
                           "datasets --delete a", "run --on local spec.json", "up --provider local --idle 0.05",
                           "machines gc", "--json jobs", "watch job_1 --after 3"})
    EXPECT_EQ(refusal(words_of(line)), "nothing is wrong") << line;
}

std::string in_roff(const std::string& text) {
  std::string roff;
  for (const char c : text) roff += c == '-' ? std::string("\\-") : std::string(1, c);
  return roff;
}

TEST(Completion, KnowsEveryCommandAndOptionInEachShell) {
  const CommandWords root = tree();
  const std::string bash = bash_completion(root), zsh = zsh_completion(root), fish = fish_completion(root),
                    page = manual_page(root, "0");
  each(root, [&](const CommandWords& command, const ArgumentWords& argument) {
    const std::string& name = argument.names.front();
    if (!name.starts_with("--")) return;
    EXPECT_THAT(bash, HasSubstr(" " + name)) << command.name;
    EXPECT_THAT(zsh, HasSubstr("'" + name + ":")) << command.name;
    EXPECT_THAT(fish, HasSubstr("-l " + name.substr(2) + " ")) << command.name;
    for (const std::string& choice : argument.choices) EXPECT_THAT(bash, HasSubstr(choice)) << name;
    EXPECT_THAT(page, HasSubstr("\\fB" + in_roff(name))) << command.name;
  });
  for (const CommandWords& command : root.commands) {
    EXPECT_THAT(bash, HasSubstr(":" + command.name)) << "as a command";
    EXPECT_THAT(zsh, HasSubstr("'" + command.name + ":"));
    EXPECT_THAT(fish, HasSubstr("-a " + command.name + " "));
    EXPECT_THAT(page, HasSubstr(".SS \\fBkedge " + in_roff(command.name) + "\\fR"));
  }
}

TEST(Problem, HasTheFieldsOfTheServers) {
  const schema::Value value = schema::value_from_json(
      problem_json({schema::ErrorCode::kInvalidValue, "n is 0, must be at least 1", "params.n"}));
  EXPECT_EQ(value, schema::Value(schema::ValueMap{{"type", "urn:kedge:problem:invalid-value"},
                                                  {"title", "invalid value"},
                                                  {"status", 400},
                                                  {"detail", "n is 0, must be at least 1"},
                                                  {"code", "INVALID_VALUE"},
                                                  {"where", "params.n"}}));
}

}   // namespace
}   // namespace kedge::cli
