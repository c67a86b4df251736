// What the ranks of a group compare before they take a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/comm.h"

namespace kedge::engine {

// What must be equal on all ranks for equal results, and where a rank is.
struct RankIdentity {
  std::string version, processor, kernels, mpi;   // kernels: what OpenBLAS and our code choose theirs by
  std::string host;                               // for messages
  std::string place;                              // machine and network namespace
  friend bool operator==(const RankIdentity&, const RankIdentity&) = default;
};

RankIdentity identity_of_this_rank(std::string mpi);

// Which rank differs from the first, and in what; nothing: they are alike.
std::optional<std::string> difference(std::span<const RankIdentity> ranks);
// In what this rank differs from the first.
std::optional<std::string> difference(std::span<const RankIdentity> ranks, std::size_t rank);

// Collective: those of all ranks, in their order.
std::vector<RankIdentity> gather_identities(Comm& comm, const RankIdentity& own);

}   // namespace kedge::engine
