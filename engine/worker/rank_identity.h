// What the ranks of a group compare before they take a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/comm.h"

namespace kedge::engine {

// A GPU that a rank can use.
struct RankGpu {
  std::string id;             // for open_device()
  std::string name, driver;   // of which equal bits need equal ones
  std::string uuid;           // empty where the driver does not say it
  friend bool operator==(const RankGpu&, const RankGpu&) = default;
};

// What must be equal on all ranks for equal results, where a rank is, and what it could compute on.
struct RankIdentity {
  std::string version, processor, kernels, mpi;   // kernels: what OpenBLAS and our code choose theirs by
  std::string host;                               // for messages
  std::string place;                              // machine and network namespace
  std::vector<RankGpu> gpus = {};                 // in the order of their numbers
  std::string no_gpu = {};                        // why there are none
  friend bool operator==(const RankIdentity&, const RankIdentity&) = default;
};

RankIdentity identity_of_this_rank(std::string mpi);

// Which rank differs from the first, and in what; nothing: they are alike.
std::optional<std::string> difference(std::span<const RankIdentity> ranks);
// In what this rank differs from the first.
std::optional<std::string> difference(std::span<const RankIdentity> ranks, std::size_t rank);

// A rank, and what it has.
struct RankHas {
  std::size_t rank;
  const std::string &host, &what;
};
// "the ranks are not alike, ...: the PART of rank 1 on n2 is 'this', of rank 0 on n1 'that'".
std::string unlike(std::string_view part, const RankHas& other, const RankHas& first);

// Collective: those of all ranks, in their order.
std::vector<RankIdentity> gather_identities(Comm& comm, const RankIdentity& own);

}   // namespace kedge::engine
