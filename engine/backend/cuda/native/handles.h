// The library handles behind DeviceLibraries.
#pragma once

#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/native/check.h"

namespace kedge::engine {

struct DeviceLibraries::Impl {
  CudaRuntime& runtime;
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  cusolverDnParams_t params = nullptr;

  explicit Impl(CudaRuntime& runtime);
  ~Impl();
};

}  // namespace kedge::engine
