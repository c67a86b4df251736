// The contract with the CUDA backend, which is loaded at run time (cuda_plugin.h): one C function that returns this
// table.
#pragma once

#include <cstddef>

#include "engine/backend/backend.h"

namespace kedge::engine {

// Raised whenever this table, or any class that crosses the boundary (Device, Memory, Backend and its families,
// TreeOps, TreeWalkOps, TreeShapOps, EmbeddingOps, SupportVectorOps, DeviceLanes, LinkedTables, StepRecorder, BatchOps,
// RowSumsDevice), changes.
inline constexpr int kPluginAbi = 24;
inline constexpr const char* kPluginEntry = "kedge_cuda_plugin";

// No exception leaves these calls: what went wrong is written to `message`, cut to its size and null-terminated. The objects
// made are C++ of the same build; their methods do throw schema::Error.
struct Plugin {
  int abi;
  int (*count)(char* message, std::size_t size);                                      // devices, or -1 with the reason
  bool (*describe)(int index, DeviceInfo* info, char* message, std::size_t size);
  Device* (*open)(int index, char* message, std::size_t size);   // null with the reason; otherwise owned by the caller
};

using PluginEntry = const Plugin*();

}  // namespace kedge::engine
