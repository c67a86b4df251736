// Products of the rows of a regression, which are never stored as a whole.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

// The rows of a regression, read where they lie and never stored as a whole: row i is, in double,
// weights[i] * [(X[rows[i], :] - shift) * scale, Y[i, :]]. Empty rows mean all, empty shift 0, empty scale and weights
// 1; Y is n_rows() x n_targets, which may be 0.
template <class T>
struct Design {
  MatrixView<const T> X;
  VectorView<const std::int32_t> rows = {};
  VectorView<const double> shift = {}, scale = {}, weights = {};
  MatrixView<const double> Y = {};
  std::int64_t n_rows() const { return rows.empty() ? X.rows : rows.size; }
  std::int64_t n_cols() const { return X.cols + Y.cols; }
};

template <class T>
class DesignOps {
 public:
  virtual ~DesignOps() = default;

  // Rows first .. first + out.rows - 1 of the design.
  virtual void gather(const Design<T>& design, std::int64_t first, MatrixView<double> out) = 0;
  // G = D'D for the design D with p columns, both triangles (p x p, no padding). Sums in double over fixed tiles.
  virtual void gram(const Design<T>& design, MatrixView<double> G) = 0;
  // P = S'D for the given columns S of the design D (columns.size x p, no padding); squares[j] = the sum of the squares
  // of column j of D (p). One pass over X. Sums in double over fixed tiles.
  virtual void products(const Design<T>& design, VectorView<const std::int32_t> columns, MatrixView<double> P,
                        VectorView<double> squares) = 0;
  // slopes = A'(y - A coef) (device, design.X.cols) for the design [A, y], whose one target is y; an empty coef is 0.
  // One pass over X. Sums in double over fixed tiles: CPU and CUDA agree within n d eps of the sum of the sizes.
  virtual void slopes(const Design<T>& design, VectorView<const double> coef, VectorView<double> slopes) = 0;
  // The upper triangle R (p x p, no padding, 0 below) of D = Q R by Householder's method, over fixed tiles of rows and
  // then over their triangles: R'R = D'D within a small multiple of p units of each column's norm, on every device.
  // Fewer rows than columns leave rows of 0.
  virtual void triangle(const Design<T>& design, MatrixView<double> R) = 0;
};

}   // namespace kedge::engine
