// Rows of a kernel matrix in float on the host, computed by the device in blocks and kept while there is room.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/svm/kernel_points.h"
#include "engine/estimators/svm/row_products.h"

namespace kedge::engine {

struct KernelColumns {   // a range of them
  std::int64_t first, count;
};

// Kernel values between the rows of one matrix, as LIBSVM holds them: rounded to float. They are computed in float
// where the rounding of the products is small beside `tol`, otherwise in double. A resource; load() is for one thread,
// what is loaded may be read by several.
class KernelRows {
 public:
  // X: m x d on the device, borrowed unless is_fixed(). Keeps as many rows as fit into cache_bytes, at least twice
  // `most`, the most rows that are loaded together.
  template <class T>
  KernelRows(const Context& ctx, const KernelChoice& kernel, MatrixView<const T> X, double tol,
             std::int64_t cache_bytes, std::int64_t most);

  std::int64_t size() const { return m_; }
  bool is_double() const { return is_double_; }   // how the products are computed
  // Whether each value is the same to the bit whichever rows were loaded before and together, so that several fits may
  // share the rows: all are loaded, or they come from RowProducts. X is not read any more then.
  bool is_fixed() const { return all_loaded_ || !own_float_.empty() || !own_double_.empty(); }
  std::int64_t capacity_bytes() const { return capacity_ * m_ * static_cast<std::int64_t>(sizeof(float)); }
  // All rows, half of them by symmetry; capacity for them must have been asked for, and none be loaded.
  void load_all();
  // The rows, at most `most` of them, each once: they are there until the next load().
  void load(std::span<const std::int32_t> rows);
  // The values between these rows, each once: rows.size() squared. They come from rows that are there; what lies
  // between two others is computed and not kept.
  std::vector<float> square(std::span<const std::int32_t> rows) const;
  // Row i, which is there: m values.
  const float* row(std::int64_t i) const { return slots_.get() + slot_of_[static_cast<std::size_t>(i)] * m_; }
  // out[k] += sum_i coefs[i] * (the values of rows[i] in the columns of `ranges`, one after the other); in this order.
  void add_products(std::span<const std::int32_t> rows, std::span<const double> coefs,
                    std::span<const KernelColumns> ranges, double* out) const;

 private:
  template <class E>
  struct Chosen {   // some of the points, on the device
    Matrix<E> X;
    Array<E> norms;
  };
  // The products of load() and square(), where the device and the number of columns have them here.
  template <class E>
  void own_products(KernelPoints<E>& points, RowProducts<E>& own) const;
  template <class E>
  const RowProducts<E>& own() const {
    if constexpr (std::is_same_v<E, float>) return own_float_;
    else return own_double_;
  }
  template <class E>
  Chosen<E> chosen(const KernelPoints<E>& points, std::span<const std::int32_t> rows) const;
  template <class E>
  Array<E> norms_of(const KernelPoints<E>& points, std::span<const std::int32_t> rows) const;
  template <class E>
  void apply(VectorView<const E> a_norms, VectorView<const E> b_norms, MatrixView<E> K) const;
  template <class E>
  void products(MatrixView<const E> a, VectorView<const E> a_norms, MatrixView<const E> b, VectorView<const E> b_norms,
                MatrixView<E> K) const;
  template <class E>
  std::vector<float> square_of(const KernelPoints<E>& points, std::span<const std::int32_t> rows) const;
  void compute(std::span<const std::int32_t> rows, std::int64_t first_column, std::int64_t slot);
  template <class E>
  void compute_from(const KernelPoints<E>& points, std::span<const std::int32_t> rows, std::int64_t first_column,
                    std::int64_t slot);

  bool is_there(std::int32_t row) const { return slot_of_[static_cast<std::size_t>(row)] >= 0; }

  const Context ctx_;   // a copy: rows that are shared outlive the fit that made them
  KernelChoice choice_;
  std::int64_t m_ = 0, capacity_ = 0, next_ = 0;   // slots are given out in turn
  bool is_double_ = false, all_loaded_ = false;
  KernelPoints<float> float_;
  KernelPoints<double> double_;
  RowProducts<float> own_float_;
  RowProducts<double> own_double_;
  std::unique_ptr<float[]> slots_;
  std::vector<std::int64_t> slot_of_, row_in_;   // -1: none
};

}   // namespace kedge::engine
