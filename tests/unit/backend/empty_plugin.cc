// A CUDA plug-in without devices, which tells the interface number that it was compiled for.
#include "engine/backend/plugin.h"

namespace {

int count(char*, std::size_t) {
  return 0;
}

constexpr kedge::engine::Plugin kPlugin{kedge::engine::kPluginAbi + KEDGE_ABI_OFFSET, &count, nullptr, nullptr};

}   // namespace

extern "C" __attribute__((visibility("default"))) const kedge::engine::Plugin* kedge_cuda_plugin() {
  return &kPlugin;
}
