// Memory on large pages: for what is visited in random order, or is large and new.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace kedge::engine {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Requests large pages within the range. A hint: if it fails, only time is lost.
inline void advise_huge_pages(void* data, std::int64_t bytes) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(bytes)) & ~(kHugePage - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

// Uninitialised memory that grows but keeps nothing when it does.
template <class T>
class HugeBuffer {
 public:
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    const std::size_t bytes = (n * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
    data_.reset(static_cast<T*>(std::aligned_alloc(kHugePage, bytes)));
    if (!data_) throw std::bad_alloc();
    capacity_ = bytes / sizeof(T);
    advise_huge_pages(data_.get(), static_cast<std::int64_t>(bytes));
  }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t capacity_ = 0;
};

}   // namespace kedge::engine
