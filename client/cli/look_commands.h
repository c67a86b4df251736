// kedge ui and kedge top: the server's page, and the list of jobs live in a terminal.
#pragma once

#include "client/cli/commands.h"

namespace kedge::cli {

int ui(const Options& options);
int top(const Options& options);

// The page, or a job on it, of a server: "http://127.0.0.1:5334/ui/#/jobs/job_01K".
std::string page_address(std::string url, const std::string& job);

}   // namespace kedge::cli
