// The processes that a program has started, and their ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace kedge::host {

// Makes orphans among the processes below this one its children, so that none gets out of its tree.
void keep_orphans();

// Every process below this one, the dead that were not waited for excluded.
std::vector<pid_t> descendants();

// SIGTERM to all of them, SIGKILL to what is left after this time, and waits until none is left.
void end_descendants(std::chrono::milliseconds patience);

}   // namespace kedge::host
