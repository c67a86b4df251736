// A command line as ssh's agents give it, without a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kedge::host {

// Divides at blanks; quotes and backslashes mean what they mean to a POSIX shell. Nothing is expanded: no shell runs.
// Errors: kInvalidValue for an open quote, and for what only a shell could do: $ ` ; & | < > ( ) outside single quotes,
// of which $ and ` count within double quotes as well.
std::vector<std::string> shell_words(std::string_view text);

}   // namespace kedge::host
