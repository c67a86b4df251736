// How many registers a thread of each kernel takes on each GPU, as ptxas says: register_table.inc, which
// register_table.py writes.
#pragma once

#include <string_view>

namespace kedge::engine::emulated {

// capability: 10 x compute capability. Of kernels of one name the most; of a kernel that is not in the table 0, which
// passes.
int registers_of_a_thread(std::string_view kernel, int capability);

}   // namespace kedge::engine::emulated
