// Replaces new, so that chosen allocations fail; one for which the new-handler finds room then succeeds. For one file of a program
// that is about nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace kedge::tests {

inline constexpr std::int64_t kNever = -1;
inline std::atomic<std::int64_t> taken{0}, failing{kNever};   // allocations so far, and the first that fails
inline std::atomic<std::int64_t> failures{1};                 // how many fail in a row
inline thread_local bool is_exempt = false;                   // a thread whose allocations neither count nor fail

inline void* allocate_or_fail(std::size_t size) {
  const std::int64_t first = is_exempt ? kNever : failing.load(), number = is_exempt ? 0 : taken.fetch_add(1);
  const bool fails = first != kNever && number >= first && number < first + failures.load();
  if (fails) {
    const std::new_handler make_room = std::get_new_handler();
    if (!make_room) throw std::bad_alloc();
    make_room();
  }
  void* const memory = std::malloc(size ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}   // namespace kedge::tests

void* operator new(std::size_t size) {
  return kedge::tests::allocate_or_fail(size);
}
void* operator new[](std::size_t size) {
  return kedge::tests::allocate_or_fail(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(unit, (size + unit - 1) & ~(unit - 1));
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {   // the caller can go on without the memory
  return std::malloc(size ? size : 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
