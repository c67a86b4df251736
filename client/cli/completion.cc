// The three scripts. Each finds the command among the words before the cursor, then offers its options, choices or
// files.
#include "client/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace kedge::cli {
namespace {

using Words = std::vector<std::string>;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// 'text' for sh, bash and zsh; and for fish, which has escapes in single quotes.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

Words names_of(const std::vector<CommandWords>& commands) {
  Words names;
  for (const CommandWords& command : commands) names.push_back(command.name);
  return names;
}

// Calls visit(path, command) for each command, "models" and then "models rm".
void each_command(const CommandWords& root,
                  const std::function<void(const std::string& path, const CommandWords& command)>& visit) {
  for (const CommandWords& command : root.commands) {
    visit(command.name, command);
    for (const CommandWords& inner : command.commands) visit(command.name + " " + inner.name, inner);
  }
}

bool completes_file(const CommandWords& command) {
  return std::ranges::any_of(command.positionals, takes_file);
}

// What may follow a command: its own commands, options and choices, and the options of all.
Words words_after(const CommandWords& root, const CommandWords& command) {
  Words words = names_of(command.commands);
  for (const ArgumentWords& positional : command.positionals)
    std::ranges::copy(positional.choices, std::back_inserter(words));
  for (const std::string& name : option_names(command)) words.push_back(name);
  for (const std::string& name : option_names(root))
    if (std::ranges::find(words, name) == words.end()) words.push_back(name);
  if (command.name == "help") std::ranges::copy(names_of(root.commands), std::back_inserter(words));
  return words;
}

// "run:--on|run:-x" as patterns of a case, for each option that takes a value.
std::string value_cases(const CommandWords& root, const char* choices_form, const char* file_form,
                        const char* other_form) {
  std::string cases;
  const auto add = [&](const std::string& path, const ArgumentWords& option) {
    if (option.value.empty()) return;
    Words patterns;
    for (const std::string& name : option.names)
      patterns.push_back(fmt::format("{}:{}", path == "*" ? "*" : quoted(path), name));
    const std::string action = !option.choices.empty()
                                   ? fmt::format(fmt::runtime(choices_form), fmt::join(option.choices, " "))
                               : takes_file(option) ? file_form
                                                    : other_form;
    cases += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), action);
  };
  each_command(root, [&](const std::string& path, const CommandWords& command) {
    for (const ArgumentWords& option : command.options) add(path, option);
  });
  for (const ArgumentWords& option : root.options) add("*", option);
  return cases;
}

std::string command_loop(const CommandWords& root, const char* words) {
  Words cases{fmt::format("      :{}) command=$word ;;", fmt::join(names_of(root.commands), "|:"))};
  for (const CommandWords& command : root.commands)
    for (const CommandWords& inner : command.commands)
      cases.push_back(fmt::format("      {0}:{1}) command={2} ;;", command.name, inner.name,
                                  quoted(command.name + " " + inner.name)));
  return fmt::format("  for word in {}; do\n    case $command:$word in\n{}\n    esac\n  done\n", words,
                     fmt::join(cases, "\n"));
}

// "name:what it does" as zsh's _describe expects it.
std::string zsh_item(const std::string& name, const std::string& help) {
  return quoted(replaced(name, ":", "\\:") + ":" + help);
}

std::string zsh_items(const CommandWords& root, const CommandWords& command) {
  Words items;
  for (const CommandWords& inner : command.commands) items.push_back(zsh_item(inner.name, inner.help));
  for (const ArgumentWords& positional : command.positionals)
    for (const std::string& choice : positional.choices) items.push_back(zsh_item(choice, positional.help));
  if (command.name == "help")
    for (const CommandWords& other : root.commands) items.push_back(zsh_item(other.name, other.help));
  return fmt::format("{}", fmt::join(items, " "));
}

std::string zsh_options(const CommandWords& root, const CommandWords& command) {
  Words items;
  const auto add = [&](const CommandWords& from) {
    for (const ArgumentWords& option : from.options)
      for (const std::string& name : option.names)
        if (std::ranges::find(items, zsh_item(name, option.help)) == items.end())
          items.push_back(zsh_item(name, option.help));
  };
  add(command);
  if (&command != &root) add(root);
  return fmt::format("{}", fmt::join(items, " "));
}

std::string fish_option(const std::string& condition, const ArgumentWords& option) {
  std::string line = fmt::format("complete -c kedge -n {}", fish_quoted(condition));
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) line += takes_file(option) ? " -r -F" : " -x";
  if (!option.choices.empty())
    line += fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  return line + fmt::format(" -d {}\n", fish_quoted(option.help));
}

}   // namespace

std::string bash_completion(const CommandWords& tree) {
  std::string commands;
  each_command(tree, [&](const std::string& path, const CommandWords& command) {
    commands += fmt::format("      {}) words={}{} ;;\n", quoted(path),
                            quoted(fmt::format("{}", fmt::join(words_after(tree, command), " "))),
                            completes_file(command) ? " files=1" : "");
  });
  return fmt::format(R"(# Completions of kedge for bash: source <(kedge completion bash)
_kedge() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= word words= files=
  [ "$previous" = = ] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
  [ "$current" = = ] && previous=${{COMP_WORDS[COMP_CWORD-1]}} current=
{}  case $command:$previous in
{}    *) case $command in
      '') words={} ;;
{}    esac ;;
  esac
  local IFS=$'\n'
  COMPREPLY=($(IFS=' ' && compgen -W "$words" -- "$current"))
  [ -z "$files" ] || COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -F _kedge kedge
)",
                     command_loop(tree, R"("${COMP_WORDS[@]:1:COMP_CWORD-1}")"),
                     value_cases(tree, "words='{}'", "files=1", ": "),
                     quoted(fmt::format("{}", fmt::join(words_after(tree, tree), " "))), commands);
}

std::string zsh_completion(const CommandWords& tree) {
  std::string commands;
  each_command(tree, [&](const std::string& path, const CommandWords& command) {
    commands += fmt::format("      ({}) items=({}) options=({}){} ;;\n", quoted(path), zsh_items(tree, command),
                            zsh_options(tree, command), completes_file(command) ? " files=1" : "");
  });
  return fmt::format(R"(#compdef kedge
# Completions of kedge for zsh: source <(kedge completion zsh), or a file _kedge on the fpath.
_kedge() {{
  local command= word files=
  local -a items options
{}  case $command:${{words[CURRENT-1]}} in
{}    *) case $command in
      ('') items=({}) options=({}) ;;
{}    esac ;;
  esac
  (( ${{#items}} )) && _describe -t values 'kedge' items
  [[ -n $files ]] && _files
  (( ${{#options}} )) && [[ -prefix - || -z $files$items ]] && _describe -o -t options 'option' options
  return 0
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kedge "$@"; else compdef _kedge kedge; fi
)",
                     command_loop(tree, R"("${(@)words[2,CURRENT-1]}")"),
                     value_cases(tree, "items=({})", "files=1", ": "), zsh_items(tree, tree), zsh_options(tree, tree),
                     commands);
}

std::string fish_completion(const CommandWords& tree) {
  std::string text = "# Completions of kedge for fish: kedge completion fish | source\ncomplete -c kedge -f\n";
  for (const ArgumentWords& option : tree.options) text += fish_option("true", option);
  for (const CommandWords& command : tree.commands)
    text += fmt::format("complete -c kedge -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        fish_quoted(command.help));
  each_command(tree, [&](const std::string& path, const CommandWords& command) {
    const std::string condition = "__fish_seen_subcommand_from " + path.substr(path.rfind(' ') + 1);
    for (const ArgumentWords& option : command.options)
      if (std::ranges::find(option.names, "--help") == option.names.end()) text += fish_option(condition, option);
    for (const CommandWords& inner : command.commands)
      text += fmt::format("complete -c kedge -n {} -a {} -d {}\n", fish_quoted(condition), inner.name,
                          fish_quoted(inner.help));
    for (const ArgumentWords& positional : command.positionals)
      if (!positional.choices.empty())
        text += fmt::format("complete -c kedge -n {} -a {}\n", fish_quoted(condition),
                            fish_quoted(fmt::format("{}", fmt::join(positional.choices, " "))));
    if (completes_file(command)) text += fmt::format("complete -c kedge -n {} -F\n", fish_quoted(condition));
    if (command.name == "help")
      text += fmt::format("complete -c kedge -n {} -a {}\n", fish_quoted(condition),
                          fish_quoted(fmt::format("{}", fmt::join(names_of(tree.commands), " "))));
  });
  return text;
}

}   // namespace kedge::cli
