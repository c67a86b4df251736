// The life of a worker process: open the device, say hello, run jobs until kedged ends.
#pragma once

#include <cstdint>
#include <string>

#include "engine/worker/channel.h"
#include "engine/worker/log.h"

namespace kedge::engine {

// Opens the device and serves the channel. Returns the exit code when the device cannot be opened (after a FailedReport
// with lease token 0) or cannot be trusted any more; otherwise the process ends inside, at once, when kedged says so or
// closes its end. Jobs on a CPU get memory_limit bytes in addition to what the open device holds; 0: no bound.
class RankGroup;
// `group`: of which this process is the first rank; null: it is a worker by itself.
int serve(const std::string& device_id, WorkerChannel& channel, std::int64_t memory_limit,
          WorkerLog log = WorkerLog::kOff, RankGroup* group = nullptr);

// What a rank gives up before it sees a job; says on stderr what the system does not allow.
void confine_rank();

}  // namespace kedge::engine
