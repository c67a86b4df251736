// The atomics of host code in files that gcc instruments (-fsanitize=thread): its own library would have them.
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
