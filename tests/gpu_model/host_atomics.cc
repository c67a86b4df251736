// What the programs need whose kernels gcc instruments: a processor with fused multiply-adds, and the atomics of host
// code (-fsanitize=thread: its own library would have them).
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kSkipped = 77;   // to ctest

[[gnu::constructor]] void require_fma() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("fma")) return;
  std::fputs("skipped: the instrumented kernels need a processor with fused multiply-adds (FMA)\n", stderr);
  std::exit(kSkipped);
}

}   // namespace

extern "C" {

// Atomics of host code: one thread runs it here, so plain accesses do.
#define KEDGE_ATOMIC(bits, T)                                                                      \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                         \
    return *p;                                                                                     \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile T* p, T v, int) {                                      \
    *p = v;                                                                                        \
  }                                                                                                \
  T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int) {                                     \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  T __tsan_atomic##bits##_fetch_sub(volatile T* p, T v, int) {                                     \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                                      \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {   \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T v, int, int) {     \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
KEDGE_ATOMIC(8, unsigned char)
KEDGE_ATOMIC(16, unsigned short)
KEDGE_ATOMIC(32, unsigned int)
KEDGE_ATOMIC(64, unsigned long)

}   // extern "C"
