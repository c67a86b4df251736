// What the AVX-512 sources of tree growing share. They need VBMI2, BITALG and VNNI, so Ice Lake or Zen 4 on. Every function names its
// target, so that nothing else is compiled for it. Include only where __x86_64__ is defined.
#pragma once

#pragma GCC diagnostic ignored "-Wuninitialized"   // gcc 12 warns about its own undefined registers (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#define KEDGE_WIDE \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vnni,bmi,bmi2,lzcnt,popcnt")))
#define KEDGE_WIDE_INLINE KEDGE_WIDE __attribute__((always_inline)) inline
