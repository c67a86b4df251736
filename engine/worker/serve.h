// The life of a worker process: open the device, say hello, run jobs until kedged ends.
#pragma once

#include <cstdint>
#include <string>

#include "engine/backend/backend.h"
#include "engine/worker/channel.h"
#include "engine/worker/log.h"

namespace kedge::engine {

// Opens the device and serves the channel. Returns the exit code when the device cannot be opened (after a FailedReport
// with lease token 0) or cannot be trusted any more; otherwise the process ends inside, at once, when kedged says so or
// closes its end. Jobs on a CPU get memory_limit bytes in addition to what the open device holds; 0: no bound.
int serve(const std::string& device_id, WorkerChannel& channel, std::int64_t memory_limit,
          WorkerLog log = WorkerLog::kOff);

// The same for the first rank of a group, whose device is open. The group lives as long as the process.
class RankGroup;
[[noreturn]] void serve_group(RankGroup& group, WorkerChannel& channel, WorkerLog log);

// Between two jobs: to the system and the driver what no table or model holds.
void give_back_memory(Device& device);

// What a rank gives up before it sees a job; says on stderr what the system does not allow.
void confine_rank();

}  // namespace kedge::engine
