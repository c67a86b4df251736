// What the compiler calls in the kernels of this program: with -fsanitize=thread each access to memory, with
// -fsanitize-coverage=trace-pc each basic block. The sanitizer's own library is not linked; these are its names
// (compiler-rt's tsan_interface.h, gcc's documentation of -fsanitize-coverage).
#include <cstring>

#include "tests/gpu_model/tracer.h"

namespace {

using kedge::engine::emulated::running;
using kedge::gpu_model::tracer;

inline void see(const void* pc, const void* p, unsigned bytes) {
  if (running && tracer) tracer->access(pc, p, bytes);
}

}   // namespace

#define KEDGE_ACCESS(name, bytes)               \
  void name(void* p) {                          \
    see(__builtin_return_address(0), p, bytes); \
  }
#define KEDGE_ACCESSES(bytes)                                \
  KEDGE_ACCESS(__tsan_read##bytes, bytes)                    \
  KEDGE_ACCESS(__tsan_write##bytes, bytes)                   \
  KEDGE_ACCESS(__tsan_unaligned_read##bytes, bytes)          \
  KEDGE_ACCESS(__tsan_unaligned_write##bytes, bytes)         \
  KEDGE_ACCESS(__tsan_volatile_read##bytes, bytes)           \
  KEDGE_ACCESS(__tsan_volatile_write##bytes, bytes)          \
  KEDGE_ACCESS(__tsan_unaligned_volatile_read##bytes, bytes) \
  KEDGE_ACCESS(__tsan_unaligned_volatile_write##bytes, bytes)

extern "C" {

KEDGE_ACCESSES(1)
KEDGE_ACCESSES(2)
KEDGE_ACCESSES(4)
KEDGE_ACCESSES(8)
KEDGE_ACCESSES(16)
void __tsan_read_range(void* p, unsigned long bytes) {
  see(__builtin_return_address(0), p, static_cast<unsigned>(bytes));
}
void __tsan_write_range(void* p, unsigned long bytes) {
  see(__builtin_return_address(0), p, static_cast<unsigned>(bytes));
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __sanitizer_cov_trace_pc() {
  if (running && tracer) tracer->basic_block(__builtin_return_address(0));
}

}   // extern "C"
