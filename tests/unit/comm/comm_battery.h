// What every communicator must do, for threads of one process and for processes under mpirun.
#pragma once

#include <string>
#include <vector>

#include "engine/comm/comm.h"

namespace kedge::engine {

// Makes every call, with parts that are empty, equal and unequal, and compares with what one process computes. Returns
// what is wrong on this rank.
std::vector<std::string> comm_faults(Comm& comm);

// Sums of numbers with 60 binades, by exact integers over the ranks: the same bits at any number of ranks. As
// hexadecimal text.
std::string sum_over_ranks(Comm& comm);

}   // namespace kedge::engine
