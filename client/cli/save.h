// What a command fetches, into a file.
#pragma once

#include <functional>
#include <string>

#include "client/cli/commands.h"
#include "kedge/session.h"

namespace kedge::cli {

// Calls `fetch` with what takes the pieces, and writes them to `file`, or to stdout for "-". A fetch that fails leaves
// nothing, and a file of that name as it was. Says where the bytes are: on stderr or, with --json, as {"file", "bytes"}
// on stdout. Errors: those of the fetch; kUnavailable for a file that cannot be written.
void save(const std::string& file, const std::function<void(const Take& take)>& fetch, const Options& options);

}   // namespace kedge::cli
