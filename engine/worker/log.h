// The worker's log: one line to stderr for the beginning and the end of each run.
#pragma once

#include <string>

#include "schemas/worker.h"

namespace kedge::engine {

enum class WorkerLog { kOff, kText, kJson };

// "off", "text" or "json". Errors: kInvalidValue.
WorkerLog worker_log(const std::string& name);

// As kedged writes its own: "time", "level", "message" and fields, in one object a line when it is JSON.
void log_begin(WorkerLog log, const schema::RunCommand& run, const std::string& device);
void log_end(WorkerLog log, const schema::RunCommand& run, const std::string& device, double seconds);

}   // namespace kedge::engine
