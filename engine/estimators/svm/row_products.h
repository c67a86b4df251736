// Products of chosen rows of a matrix with all of its rows, on the host: the same bits whichever rows are chosen
// together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/array.h"

namespace kedge::engine {

// E is float or double. A copy of the matrix by panels of columns of its transpose. Each product is one sum, from the
// first column to the last, by the same instructions at any place of the result; a library's product takes others at
// its edges. So rows that were computed for one fit are those of another. A value; const calls may be made on several
// threads.
template <class E>
class RowProducts {
 public:
  // Of rows with more columns, a library's blocks for the cache are worth more.
  static constexpr std::int64_t kMostColumns = 256;

  RowProducts() = default;
  // X: n x d, row-major and packed, host.
  RowProducts(std::vector<E> X, std::int64_t n, std::int64_t d);

  bool empty() const { return n_ == 0; }
  // to[i * stride + j] = the product of rows[i] and row first + j: rows.size() x (n - first), on the threads of the
  // ops. first: a multiple of 16.
  void with_all(std::span<const std::int32_t> rows, std::int64_t first, E* to, std::int64_t stride) const;
  // The same between the rows: rows.size() squared, packed.
  void between(std::span<const std::int32_t> rows, E* to) const;

 private:
  const E* row(std::int32_t i) const { return X_.data() + i * d_; }

  std::int64_t n_ = 0, d_ = 0;
  std::vector<E> X_, panels_;   // panels: of some rows each, column after column
};

}   // namespace kedge::engine
