// NCCL's functions by their names.
#include "engine/comm/nccl_table.h"

#include <fmt/core.h>

#include "engine/comm/loaded_library.h"

namespace kedge::engine {
namespace {

std::string text_of(int version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

}   // namespace

std::string NcclTable::version_text() const {
  return text_of(version);
}

NcclTable load_nccl(const std::string& library) {
  const LoadedLibrary nccl("NCCL", library);
  NcclTable table{};
  nccl.find(table.get_version, "ncclGetVersion");
  if (const NcclResult result = table.get_version(&table.version); result != NcclResult::kSuccess)
    throw schema::Error(schema::ErrorCode::kDeviceUnavailable,
                        fmt::format("NCCL does not tell its version: result {}", static_cast<int>(result)));
  // Before 2.9 a version was written as 2804 for 2.8.4, which is less than every number since.
  if (table.version < kOldestNccl)
    throw schema::Error(schema::ErrorCode::kDeviceUnavailable,
                        fmt::format("NCCL is of version {}, must be {} or newer",
                                    table.version < 10'000 ? std::to_string(table.version) : text_of(table.version),
                                    text_of(kOldestNccl)));
  nccl.find(table.get_unique_id, "ncclGetUniqueId");
  nccl.find(table.init, "ncclCommInitRankConfig");
  nccl.find(table.finalize, "ncclCommFinalize");
  nccl.find(table.destroy, "ncclCommDestroy");
  nccl.find(table.abort, "ncclCommAbort");
  nccl.find(table.async_error, "ncclCommGetAsyncError");
  nccl.find(table.error_text, "ncclGetErrorString");
  nccl.find(table.last_error, "ncclGetLastError");
  nccl.find(table.all_reduce, "ncclAllReduce");
  nccl.find(table.broadcast, "ncclBroadcast");
  nccl.find(table.all_gather, "ncclAllGather");
  nccl.find(table.reduce_scatter, "ncclReduceScatter");
  nccl.find(table.send, "ncclSend");
  nccl.find(table.receive, "ncclRecv");
  nccl.find(table.group_start, "ncclGroupStart");
  nccl.find(table.group_end, "ncclGroupEnd");
  return table;
}

}   // namespace kedge::engine
