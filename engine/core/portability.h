// KEDGE_HD marks a function that host and device both compile, KEDGE_HD_INLINE one that is compiled into its callers alone: where these are
// made for several instruction sets, so is it. Only this file and cuda/launch.cuh ask which compiler is at work.
#pragma once

#if defined(__CUDACC__)
#define KEDGE_HD __host__ __device__
#define KEDGE_HD_INLINE __host__ __device__ __forceinline__
#else
#define KEDGE_HD
#define KEDGE_HD_INLINE [[gnu::always_inline]] inline
#endif
