// check(): turns every error code of the CUDA runtime and its libraries into the project's error. Without fmt: nvcc refuses it.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <string>

#include "schemas/error.h"

namespace kedge::engine {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();   // an error that does not poison the context must not surface again at the next call
  const bool memory = status == cudaErrorMemoryAllocation;
  throw schema::Error(memory ? schema::ErrorCode::kOutOfMemory : schema::ErrorCode::kInternal,
                      std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw schema::Error(status == CUBLAS_STATUS_ALLOC_FAILED ? schema::ErrorCode::kOutOfMemory : schema::ErrorCode::kInternal,
                        std::string("cuBLAS: ") + what + ": " + cublasGetStatusString(status));
}

inline void check(cusolverStatus_t status, const char* what) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw schema::Error(status == CUSOLVER_STATUS_ALLOC_FAILED ? schema::ErrorCode::kOutOfMemory : schema::ErrorCode::kInternal,
                        std::string("cuSOLVER: ") + what + ": status " + std::to_string(static_cast<int>(status)));
}

}  // namespace kedge::engine

// KEDGE_CHECK(call): the call's own text names it in the error.
#define KEDGE_CHECK(call) ::kedge::engine::check((call), #call)
