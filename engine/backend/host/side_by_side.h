// side_by_side(): whole fits on the CPU's threads, each on one, where the ops of one fit are too small for several.
#pragma once

#include <cstdint>
#include <functional>

namespace kedge::engine {

// Calls work(i) once for each i in [0, n) on the threads of the ops, which meanwhile keep to the thread that calls them; none of
// the results depends on it. After an exception no further call starts, and the first exception is thrown here.
void side_by_side(std::int64_t n, const std::function<void(std::int64_t)>& work);

// How many threads host code may take here: those of the ops, or 1 within side_by_side().
int host_threads();

}   // namespace kedge::engine
