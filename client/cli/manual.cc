// kedge(1) in the language of man(7).
#include "client/cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <span>
#include <utility>

namespace kedge::cli {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"KEDGE_URL",
     "Address of the server that commands go to. It goes before the server of kedge use and the machine of kedge up."},
    {"KEDGE_TOKEN", "Token for it."},
    {"KEDGE_TOKEN_FILE", "File that the token is read from, when KEDGE_TOKEN is not set."},
    {"KEDGE_PIN", "SHA-256 of the one certificate that is trusted, in hexadecimal digits."},
    {"KEDGE_CA", "File of the certificate authorities that are trusted."},
    {"KEDGE_CLIENT_CERT", "Certificate of the client, in a PEM file, for servers that demand one."},
    {"KEDGE_CLIENT_KEY", "Its private key, in a PEM file."},
    {"KEDGE_SPEND_CAP", "USD that all rented machines may cost together, at least 0."},
    {"KEDGE_IMAGE", "The container image of the server, for machines of clouds."},
    {"KEDGE_STATE_DIR", "Directory that keeps what is rented (default $XDG_STATE_HOME/kedge/machines)."},
    {"NO_COLOR", "Without colours, when it is set to anything."},
};
constexpr std::pair<const char*, const char*> kFiles[] = {
    {"$XDG_CONFIG_HOME/kedge/servers.json",
     "Servers, tokens and pins that kedge login keeps, for its owner alone. XDG_CONFIG_HOME is ~/.config where it is "
     "not set."},
    {"$XDG_STATE_HOME/kedge/machines",
     "What is rented, for its owner alone. XDG_STATE_HOME is ~/.local/state where it is not set."},
};
constexpr std::pair<const char*, const char*> kExits[] = {
    {"0", "The command did what it was asked; the job succeeded."},
    {"1", "It could not; the job failed."},
    {"2", "The job was cancelled."},
    {"64", "The command line was wrong."},
    {"69", "No server answered."},
    {"130", "Interrupted. A job that was followed continues."},
};

// Plain text for troff: no requests, no escapes, and hyphens that can be copied.
std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') out += "\\e";
    else if (text[i] == '-') out += "\\-";
    else out += text[i];
  }
  return out;
}

void item(Out out, const std::string& term, const std::string& text) {
  fmt::format_to(out, ".TP\n{}\n{}\n", term, escaped(text));
}

void argument(Out out, const ArgumentWords& words) {
  std::string term;
  for (const std::string& name : words.names) term += (term.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
  if (!words.value.empty() && !words.names.front().starts_with("-"))
    term = "\\fI" + escaped(words.names.front()) + "\\fR";
  else if (!words.value.empty()) term += " \\fI" + escaped(words.value) + "\\fR";
  std::string help = words.help;
  if (!words.choices.empty()) help += fmt::format(": {}", fmt::join(words.choices, ", "));
  item(out, term, help);
}

std::string synopsis(const std::string& path, const CommandWords& command) {
  std::string text = fmt::format("\\fB{}\\fR", escaped(path));
  if (!command.options.empty()) text += " [\\fIoptions\\fR]";
  for (const ArgumentWords& positional : command.positionals)
    text += fmt::format(fmt::runtime(positional.is_required ? " \\fI{}\\fR" : " [\\fI{}\\fR]"),
                        escaped(positional.names.front()));
  return text;
}

// The footer is a heading and indented lines.
void footer(Out out, const std::string& text) {
  if (!text.empty()) fmt::format_to(out, ".PP\n.nf\n{}\n.fi\n", escaped(text));
}

void section(Out out, const std::string& path, const CommandWords& command) {
  fmt::format_to(out, ".SS {}\n{}.\n", synopsis(path, command), escaped(command.help));
  for (const ArgumentWords& positional : command.positionals) argument(out, positional);
  for (const ArgumentWords& option : command.options)
    if (option.names.front() != "--help") argument(out, option);
  footer(out, command.footer);
  for (const CommandWords& inner : command.commands) section(out, path + " " + inner.name, inner);
}

void list(Out out, const char* title, std::span<const std::pair<const char*, const char*>> rows) {
  fmt::format_to(out, ".SH {}\n", title);
  for (const auto& [term, text] : rows) item(out, fmt::format("\\fB{}\\fR", escaped(term)), text);
}

}   // namespace

std::string manual_page(const CommandWords& tree, const std::string& version) {
  std::string page;
  Out out(page);
  fmt::format_to(
      out,
      ".TH KEDGE 1 \"\" \"kedge {}\" \"Kedge\"\n.SH NAME\nkedge \\- run scikit\\-learn pipelines on a Kedge server\n",
      version);
  fmt::format_to(out, ".SH SYNOPSIS\n\\fBkedge\\fR [\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n");
  fmt::format_to(out,
                 ".SH DESCRIPTION\n{}\nA job is a description in JSON: a data set, a pipeline of estimators, and a "
                 "task. Data goes to standard output, "
                 "everything else to standard error.\n.SH OPTIONS\n",
                 escaped(tree.help));
  for (const ArgumentWords& option : tree.options) argument(out, option);
  fmt::format_to(out, ".SH COMMANDS\n");
  for (const CommandWords& command : tree.commands) section(out, "kedge " + command.name, command);
  list(out, "ENVIRONMENT", kEnvironment);
  list(out, "FILES", kFiles);
  list(out, "EXIT STATUS", kExits);
  fmt::format_to(out, ".SH SEE ALSO\n\\fBkedged\\fR(8)\n");
  return page;
}

}   // namespace kedge::cli
