// Sparse matrices on one device, compressed by rows: a borrowed view, and owned memory.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "engine/core/array.h"
#include "engine/core/view.h"

namespace kedge::engine {

// The entries of row i lie at offsets[i] .. offsets[i + 1] - 1, their columns ascending, none twice; what has
// no entry is 0. offsets: rows + 1, offsets[0] = 0. Borrows, as the views of view.h.
template <class T>
struct CsrView {
  template <class U>
  using Like = std::conditional_t<std::is_const_v<T>, const U, U>;

  VectorView<Like<std::int64_t>> offsets;
  VectorView<Like<std::int32_t>> columns;
  VectorView<T> values;
  std::int64_t rows = 0, cols = 0;

  constexpr CsrView() = default;
  constexpr CsrView(VectorView<Like<std::int64_t>> offsets, VectorView<Like<std::int32_t>> columns,
                    VectorView<T> values, std::int64_t rows, std::int64_t cols)
      : offsets(offsets), columns(columns), values(values), rows(rows), cols(cols) {}
  template <class U>
    requires std::is_same_v<const U, T>
  constexpr CsrView(CsrView<U> m) : CsrView(m.offsets, m.columns, m.values, m.rows, m.cols) {}
  std::int64_t n_entries() const { return values.size; }
};

// Owns a sparse matrix; uninitialised except for what it was given. The Memory must outlive it. Move-only.
template <class T>
class CsrMatrix {
 public:
  CsrMatrix() = default;
  CsrMatrix(Memory& memory, std::int64_t rows, std::int64_t cols, std::int64_t n_entries)
      : CsrMatrix(memory, cols, Array<std::int64_t>(memory, rows + 1), n_entries) {}
  // With offsets that exist already; n_entries: the last of them.
  CsrMatrix(Memory& memory, std::int64_t cols, Array<std::int64_t> offsets, std::int64_t n_entries)
      : offsets_(std::move(offsets)), columns_(memory, n_entries), values_(memory, n_entries), cols_(cols) {}
  CsrMatrix(Memory& memory, std::int64_t cols, std::span<const std::int64_t> offsets,
            std::span<const std::int32_t> columns, std::span<const T> values)
      : offsets_(memory, offsets), columns_(memory, columns), values_(memory, values), cols_(cols) {}

  std::int64_t rows() const { return offsets_.size() > 0 ? offsets_.size() - 1 : 0; }
  std::int64_t cols() const { return cols_; }
  std::int64_t n_entries() const { return values_.size(); }
  CsrView<T> view() { return {offsets_.view(), columns_.view(), values_.view(), rows(), cols_}; }
  CsrView<const T> view() const { return {offsets_.view(), columns_.view(), values_.view(), rows(), cols_}; }

 private:
  Array<std::int64_t> offsets_;
  Array<std::int32_t> columns_;
  Array<T> values_;
  std::int64_t cols_ = 0;
};

}  // namespace kedge::engine
