// What a command says when it cannot go on, and how plain text becomes JSON.
#pragma once

#include <string>

#include "client/cli/commands.h"
#include "schemas/error.h"

namespace kedge::cli {

// A line for people on stderr and, with --json, one document on stdout with the fields of the server's problems: type,
// title, status, detail, code, and where, if something is named. Returns the exit code.
int report(const schema::Error& error, const Options& options);
std::string problem_json(const schema::Error& error);

// On stdout; with --json as {"text": ...}.
void print_text(const std::string& text, const Options& options);

}   // namespace kedge::cli
