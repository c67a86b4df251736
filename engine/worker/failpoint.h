// Deaths on purpose, for tests of the supervisor; requested by the environment variable KEDGE_FAILPOINT.
#pragma once

namespace kedge::engine {

// "worker.run.abort": aborts. "worker.run.abort_once:PATH": aborts unless PATH exists, and creates it.
// "worker.run.hang": never returns, also if the job is cancelled. Any other value, or none: returns.
void failpoint_at_run();

// Whether a failpoint keeps a file, which a worker that is confined from files could not make.
bool failpoint_has_a_file();

}  // namespace kedge::engine
