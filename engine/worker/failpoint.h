// Deaths on purpose, for tests of the supervisor; asked for by the environment variable KEDGE_FAILPOINT.
#pragma once

namespace kedge::engine {

// "worker.run.abort": aborts. "worker.run.abort_once:PATH": aborts unless PATH exists, and creates it. "worker.run.hang": never
// returns, whatever is cancelled. Anything else, or nothing: returns.
void failpoint_at_run();

// Whether a failpoint keeps a file, which a worker that is confined from files could not make.
bool failpoint_has_a_file();

}  // namespace kedge::engine
