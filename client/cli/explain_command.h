// kedge explain: the story of a job, from its description, its events and its result.
#pragma once

#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/terminal.h"
#include "schemas/event.h"
#include "schemas/job.h"

namespace kedge::cli {

int explain(const Options& options);

// What the job is and how it ended, each attempt with its device and its end, warnings, memory, and the seconds of each phase. `events`: those
// that are stored; the oldest may be missing. `now`: seconds since 1970, for a job that has not ended.
std::string story_of(const schema::Job& job, const std::vector<schema::Event>& events, const Page& page, double now);

// The same as one JSON document: {"job": ..., "attempts": [{"device", "started", "ended", "end", "error"}], "seconds": {"fit": 1.5}}.
std::string story_json(const schema::Job& job, const std::vector<schema::Event>& events);

}  // namespace kedge::cli
