// KEDGE_HD marks a function that host and device both compile. Only this file and cuda/launch.cuh ask which compiler is at work.
#pragma once

#if defined(__CUDACC__)
#define KEDGE_HD __host__ __device__
#else
#define KEDGE_HD
#endif
