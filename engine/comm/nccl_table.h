// NCCL's functions that the communicator calls, found when it runs: no program of this project is linked to NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

namespace kedge::engine {

// As in nccl.h. The numbers and layouts here are the same in every release since 2.14.
enum class NcclResult : int { kSuccess = 0, kInProgress = 7 };   // others are errors
enum class NcclType : int { kUint8 = 1, kInt64 = 4, kFloat64 = 8 };
enum class NcclOp : int { kSum = 0, kMax = 2, kMin = 3 };
struct NcclUniqueId {
  std::array<char, 128> bytes;
};
// ncclConfig_t of 2.14; later releases take it by its size and version, and use their defaults for the rest.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;
  int is_blocking = 0;
};

inline constexpr int kOldestNccl = 21400;   // the first with communicators that do not block

struct NcclTable {
  NcclResult (*get_version)(int*);
  NcclResult (*get_unique_id)(NcclUniqueId*);
  NcclResult (*init)(void** comm, int size, NcclUniqueId, int rank, NcclConfig*);
  NcclResult (*finalize)(void* comm);
  NcclResult (*destroy)(void* comm);
  NcclResult (*abort)(void* comm);
  NcclResult (*async_error)(void* comm, NcclResult*);
  const char* (*error_text)(NcclResult);
  const char* (*last_error)(void* comm);
  NcclResult (*all_reduce)(const void*, void*, std::size_t, NcclType, NcclOp, void* comm, void* stream);
  NcclResult (*broadcast)(const void*, void*, std::size_t, NcclType, int root, void* comm, void* stream);
  NcclResult (*all_gather)(const void*, void*, std::size_t, NcclType, void* comm, void* stream);
  NcclResult (*reduce_scatter)(const void*, void*, std::size_t, NcclType, NcclOp, void* comm, void* stream);
  NcclResult (*send)(const void*, std::size_t, NcclType, int peer, void* comm, void* stream);
  NcclResult (*receive)(void*, std::size_t, NcclType, int peer, void* comm, void* stream);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  int version = 0;

  std::string version_text() const;   // "2.28.9"
};

// Errors: kDeviceUnavailable, when the library is missing, is older than kOldestNccl, or lacks a function.
NcclTable load_nccl(const std::string& library);

}   // namespace kedge::engine
