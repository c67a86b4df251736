// The library handles behind DeviceLibraries, of a lane made when they are first used: it may need none.
#pragma once

#include "engine/backend/cuda/libraries.h"
#include "engine/backend/cuda/native/check.h"

namespace kedge::engine {

struct DeviceLibraries::Impl {
  CudaRuntime& runtime;

  explicit Impl(CudaRuntime& of);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  cublasHandle_t blas();
  cusolverDnHandle_t solver();
  cusolverDnParams_t params();

 private:
  cublasHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
};

}  // namespace kedge::engine
