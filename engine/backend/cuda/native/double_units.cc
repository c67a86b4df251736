// The driver's own figure of a device's rates.
#include "engine/backend/cuda/double_units.h"

#include "engine/backend/cuda/native/check.h"

namespace kedge::engine {
namespace {

constexpr int kManyFloats = 8;

}   // namespace

bool has_few_double_units(const CudaRuntime& gpu) {
  int floats = 0;
  KEDGE_CHECK(cudaDeviceGetAttribute(&floats, cudaDevAttrSingleToDoublePrecisionPerfRatio, gpu.info().index));
  return floats > kManyFloats;
}

}   // namespace kedge::engine
