// CUDA's device vocabulary for g++, in terms of the emulator: just what the kernels use, added to as they need more.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/backend/emulated/emulator.h"
#include "engine/backend/emulated/observer.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static   // one block runs at a time
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

#define threadIdx (::kedge::engine::emulated::running->fiber().thread_index)
#define blockIdx (::kedge::engine::emulated::running->block_index)
#define blockDim (::kedge::engine::emulated::running->block_size)
#define gridDim (::kedge::engine::emulated::running->grid_size)
inline constexpr int warpSize = 32;

namespace kedge::engine::emulated {

inline void* dynamic_shared() { return running->dynamic_shared; }
inline void launch(void* emulator, const Launch& launch, const std::function<void()>& body) {
  static_cast<Emulator*>(emulator)->launch(launch, body);
}

using Kind = Meeting::Kind;
inline std::uint64_t meet(Kind kind, const char* file, int line, unsigned mask, int source = 0, std::uint64_t value = 0) {
  return running->meet({.kind = kind, .file = file, .line = line, .mask = mask, .source = source, .value = value});
}

template <class T>
T shuffle(const char* file, int line, unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = meet(Kind::kShuffle, file, line, mask, source, bits);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int lane() { return static_cast<int>(running->fiber().rank % 32); }
// Lanes shuffle within groups of `width`; one that would reach outside its group reads itself.
inline int lane_at(int width, int source) { return lane() / width * width + source % width; }
inline int lane_down(int width, int delta) { return lane() % width + delta < width ? lane() + delta : lane(); }
inline int lane_up(int width, int delta) { return lane() % width >= delta ? lane() - delta : lane(); }
inline int lane_xor(int width, int bits) { return ((lane() ^ bits) / width <= lane() / width) ? lane() ^ bits : lane(); }

// An atomic. The observer sees it as such, not as a read and a write.
template <class T, class Change>
__attribute__((no_sanitize("thread"))) T change(T* p, Change&& to) {
  if (observer) observer->atomic(p, sizeof(T));
  const T old = *p;
  *p = to(old);
  return old;
}

}  // namespace kedge::engine::emulated

#define KEDGE_MEET(kind, mask, ...) \
  ::kedge::engine::emulated::meet(::kedge::engine::emulated::Kind::kind, __FILE__, __LINE__, mask, ##__VA_ARGS__)
#define __syncthreads() static_cast<void>(KEDGE_MEET(kBlock, 0))
#define __syncthreads_count(predicate) static_cast<int>(KEDGE_MEET(kBlock, 0, 0, (predicate) ? 1 : 0))
#define __syncthreads_or(predicate) (KEDGE_MEET(kBlock, 0, 0, (predicate) ? 1 : 0) != 0)
#define __syncwarp(...) static_cast<void>(KEDGE_MEET(kWarpSync, (0xffffffffu __VA_OPT__(&) __VA_ARGS__)))
#define __ballot_sync(mask, predicate) static_cast<unsigned>(KEDGE_MEET(kBallot, mask, 0, (predicate) ? 1 : 0))
#define __any_sync(mask, predicate) (__ballot_sync(mask, predicate) != 0)
#define __all_sync(mask, predicate) (__ballot_sync(mask, !(predicate)) == 0)

#define KEDGE_WIDTH(width, ...) width   // the first of: the caller's width if any, else 32
#define KEDGE_SHUFFLE(pick, mask, value, by, ...) \
  ::kedge::engine::emulated::shuffle(__FILE__, __LINE__, mask, value, \
                                     ::kedge::engine::emulated::pick(KEDGE_WIDTH(__VA_ARGS__ __VA_OPT__(, ) 32, 0), by))
#define __shfl_sync(mask, value, source, ...) KEDGE_SHUFFLE(lane_at, mask, value, source, __VA_ARGS__)
#define __shfl_down_sync(mask, value, delta, ...) KEDGE_SHUFFLE(lane_down, mask, value, delta, __VA_ARGS__)
#define __shfl_up_sync(mask, value, delta, ...) KEDGE_SHUFFLE(lane_up, mask, value, delta, __VA_ARGS__)
#define __shfl_xor_sync(mask, value, bits, ...) KEDGE_SHUFFLE(lane_xor, mask, value, bits, __VA_ARGS__)

// Atomics: fibers switch only at meetings, so plain reads and writes are indivisible.
template <class T> T atomicAdd(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T o) { return static_cast<T>(o + v); }); }
template <class T> T atomicSub(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T o) { return static_cast<T>(o - v); }); }
template <class T> T atomicMin(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T o) { return v < o ? v : o; }); }
template <class T> T atomicMax(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T o) { return o < v ? v : o; }); }
template <class T> T atomicOr(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T o) { return o | v; }); }
template <class T> T atomicAnd(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T o) { return o & v; }); }
template <class T> T atomicExch(T* p, std::type_identity_t<T> v) { return kedge::engine::emulated::change(p, [=](T) { return v; }); }
template <class T> T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return kedge::engine::emulated::change(p, [=](T o) { return o == expected ? v : o; });
}
inline void __threadfence() {}
inline void __threadfence_block() {}

inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __ffs(unsigned v) { return v ? std::countr_zero(v) + 1 : 0; }
inline int __ffsll(unsigned long long v) { return v ? std::countr_zero(v) + 1 : 0; }
inline int __clz(unsigned v) { return std::countl_zero(v); }
inline int __clzll(unsigned long long v) { return std::countl_zero(v); }
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t{a} * b) >> 32); }
template <class T> T __ldg(const T* p) { return *p; }
template <class T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }
