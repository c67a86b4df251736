// Rows that are made when they are read first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "engine/core/demand_memory.h"

namespace kedge::engine {

// Memory of a row-major matrix of `cols` columns, for one Matrix<T>, of which one row at a time can be made. Resource;
// outlives its matrix.
template <class T>
class DemandRows {
 public:
  // make: fills a row; under the conditions of DemandMemory::Make.
  DemandRows(Memory& host, std::int64_t cols, std::function<void(std::int64_t row, T* out)> make)
      : make_(std::move(make)),
        row_(static_cast<std::size_t>(cols)),
        memory_(host, [this](std::size_t first, std::size_t bytes, std::byte* to) { make_bytes(first, bytes, to); }) {}

  Memory& memory() { return memory_; }
  std::int64_t held() const { return static_cast<std::int64_t>(memory_.held()); }   // bytes

  // Rows [first, first + count) are about to be written by write(matrix), of any number of threads. Errors: its own,
  // and kOutOfMemory.
  void bring(std::int64_t first, std::int64_t count, const std::function<void(T* matrix)>& write) {
    memory_.bring(static_cast<std::size_t>(first) * row_bytes(), static_cast<std::size_t>(count) * row_bytes(),
                  [&](std::byte* array) { write(reinterpret_cast<T*>(array)); });
  }

 private:
  std::size_t row_bytes() const { return row_.size() * sizeof(T); }

  // Rows whole or, at both ends, in part.
  void make_bytes(std::size_t first, std::size_t bytes, std::byte* to) {
    const std::size_t end = first + bytes;
    for (std::size_t at = first; at < end;) {
      const std::size_t begin = at % row_bytes(), count = std::min(row_bytes() - begin, end - at);
      make_(static_cast<std::int64_t>(at / row_bytes()), row_.data());
      std::memcpy(to + (at - first), reinterpret_cast<const std::byte*>(row_.data()) + begin, count);
      at += count;
    }
  }

  const std::function<void(std::int64_t, T*)> make_;
  std::vector<T> row_;
  DemandMemory memory_;
};

}   // namespace kedge::engine
