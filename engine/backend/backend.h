// The closed set of numerical operations. Estimators are written on these alone; each op has a CPU and a CUDA body.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "engine/backend/columns.h"
#include "engine/backend/elastic_net.h"
#include "engine/backend/moving_centers.h"
#include "engine/backend/neighbours.h"
#include "engine/backend/trees.h"
#include "engine/core/array.h"
#include "engine/core/csr.h"
#include "engine/core/device.h"
#include "engine/core/view.h"

namespace kedge::engine {

enum class Transpose { kNo, kYes };

struct Cell {
  std::int64_t row = 0, col = 0;
};

// The rows of a regression, read where they lie and never stored as a whole: row i is, in double,
// weights[i] * [(X[rows[i], :] - shift) * scale, Y[i, :]]. Empty rows mean all, empty shift 0, empty scale and weights 1; Y is
// n_rows() x n_targets, which may be 0.
template <class T>
struct Design {
  MatrixView<const T> X;
  VectorView<const std::int32_t> rows = {};
  VectorView<const double> shift = {}, scale = {}, weights = {};
  MatrixView<const double> Y = {};
  std::int64_t n_rows() const { return rows.empty() ? X.rows : rows.size; }
  std::int64_t n_cols() const { return X.cols + Y.cols; }
};

// Dense operations for T = float or double. Every view is device memory of the device that owns this backend, unless its
// name ends in `_host`. `rows` names rows of X by index; an empty view means all rows in order. Sums are in double over
// fixed tiles, so a result does not depend on the number of threads. Thread safety: one caller at a time.
template <class T>
class Backend {
 public:
  virtual ~Backend() = default;

  // --- tables ---
  // The first (in row-major order) NaN or infinity of X, if any. Waits for the device.
  virtual std::optional<Cell> find_nonfinite(MatrixView<const T> X) = 0;
  // out[i, j] = (X[rows[i], j] - shift[j]) * scale[j], in double, rounded once. Empty shift means 0, empty scale 1.
  virtual void gather(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                      VectorView<const double> scale, MatrixView<T> out) = 0;
  // Mean and population variance of each column over `rows`, weighted if weights (one per selected row) are given. An empty
  // variance is not computed. Two passes; CPU and CUDA agree within 1e-12 relative to the column's largest square.
  virtual void column_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                              VectorView<double> mean, VectorView<double> variance) = 0;
  virtual void column_range(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<T> minimum,
                            VectorView<T> maximum) = 0;
  virtual void clip(MatrixView<T> X, T low, T high) = 0;

  // --- dense linear algebra ---
  // C = alpha op(A) op(B) + beta C.
  virtual void gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta,
                    MatrixView<T> C) = 0;
  // C = alpha A'A, both triangles. A is n x d, C is d x d.
  virtual void gram(T alpha, MatrixView<const T> A, MatrixView<T> C) = 0;
  // Symmetric A = V diag(w) V', or its w.size largest eigenvalues only. Row i of A becomes the vector of w[i], w ascending.
  virtual void eigh(MatrixView<T> A, VectorView<T> w) = 0;
  // Thin singular value decomposition of A (m x n, r = min(m, n)): U m x r, s descending, Vt r x n. A is overwritten.
  virtual void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) = 0;
  // Block m of C (rows m * q .. m * q + q - 1) = sum_i W[i, m] x_i x_i', both triangles. x_i is row i of X, followed by a 1 if
  // with_ones, and q its length; W >= 0 (n x M), C is M * q x q.
  virtual void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) = 0;
  // B = A^-1 B for a symmetric positive definite A (n x n) and B (n x m), by Cholesky; A is overwritten. False, and B unchanged, if a
  // pivot is not positive. No padding in A. Waits.
  virtual bool solve_positive(MatrixView<T> A, MatrixView<T> B) = 0;
  // A (m x n, m >= n) is replaced by the orthonormal Q of its QR decomposition.
  virtual void orthonormalize(MatrixView<T> A) = 0;
  // Rows first .. first + out.rows - 1 of the design.
  virtual void design_rows(const Design<T>& design, std::int64_t first, MatrixView<double> out) = 0;
  // G = D'D for the design D with p columns, both triangles (p x p, no padding). Sums in double over fixed tiles.
  virtual void design_gram(const Design<T>& design, MatrixView<double> G) = 0;
  // P = S'D for the given columns S of the design D (columns.size x p, no padding); squares[j] = the sum of the squares of column j
  // of D (p). One pass over X. Sums in double over fixed tiles.
  virtual void design_products(const Design<T>& design, VectorView<const std::int32_t> columns, MatrixView<double> P,
                               VectorView<double> squares) = 0;
  // The upper triangle R (p x p, no padding, 0 below) of D = Q R by Householder's method, over fixed tiles of rows and then over their
  // triangles: R'R = D'D within a small multiple of p units of each column's norm, on every device. Fewer rows than columns leave rows of 0.
  virtual void design_triangle(const Design<T>& design, MatrixView<double> R) = 0;
  // Standard normal numbers, element i from Philox(seed, stream) by the Box-Muller transform; CPU and CUDA agree within 4 ulp.
  virtual void fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) = 0;

  // --- rows ---
  virtual void add_to_rows(VectorView<const T> v, MatrixView<T> Z) = 0;          // Z[i, :] += v
  virtual void column_sums(MatrixView<const T> Z, VectorView<double> sums) = 0;
  virtual void row_squared_norms(MatrixView<const T> X, VectorView<T> norms) = 0;
  virtual void softmax_rows(MatrixView<T> Z) = 0;                                 // exp(Z) / row sum, stable
  virtual void argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) = 0;   // first of equal maxima
  // Multinomial logistic loss. Z (n x k) holds margins without intercept, b the intercepts (k, or empty). Returns
  // sum_i weight[i] * (logsumexp(z_i) - z_i[y_i]); replaces Z by d loss / d Z. Empty weights mean 1. Waits.
  virtual double logistic_loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
                               VectorView<const double> weights) = 0;
  // The same loss of margins that are X B' in the last columns of Z (B is m x d, m <= k) and what Z holds in the others; replaces Z as above, and
  // sets G = d loss / d B (m x d). Here two passes over X; a backend may make it one. Waits.
  virtual double logistic_gradient(MatrixView<const T> X, MatrixView<const T> B, VectorView<const T> b, VectorView<const std::int32_t> y,
                                   VectorView<const double> weights, MatrixView<T> Z, MatrixView<T> G) {
    const MatrixView<T> margins = Z.last_columns(B.rows);
    gemm(Transpose::kNo, Transpose::kYes, T{1}, X, B, T{0}, margins);
    const double loss = logistic_loss(Z, b, y, weights);
    gemm(Transpose::kYes, Transpose::kNo, T{1}, margins, X, T{0}, G);
    return loss;
  }

  // Second derivatives of the loss above by the margins, each row's share: W[i, (a, b)] = weight[i] * p_a * ((a == b) - p_b) without
  // its sign, for a <= b in the order (0, 0), (0, 1) ..., W is n x k (k + 1) / 2; with k = 2 only p_0 * p_1, W is n x 1.
  virtual void logistic_curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights,
                                  MatrixView<double> W) = 0;

  // --- neighbours ---
  // The k nearest rows of `points` for each row of `queries` by squared Euclidean distance, nearest first, equal distances by
  // lower index. Fused: no queries x points matrix is stored. Distances are computed exactly (sum of squared differences in
  // double, rounded to T) for the rows returned. indices, squared: queries.rows x k. 1 <= k <= min(points.rows, 1024).
  virtual void nearest(MatrixView<const T> queries, MatrixView<const T> points, int k, MatrixView<std::int32_t> indices,
                       MatrixView<T> squared) = 0;
  // The points (all finite), prepared for searches; borrows them. O(n log n) in few columns.
  virtual std::unique_ptr<NeighbourIndex<T>> index_points(MatrixView<const T> points, const Distance& distance) = 0;
  // out[i, j] = the distance between row i of X and row j of Y; differences in double, summed as distance.h says, rounded to T.
  virtual void distances(MatrixView<const T> X, MatrixView<const T> Y, const Distance& distance, MatrixView<T> out) = 0;
  // proba[i, c] = share of the votes for class c among the neighbours of i; each counts 1, or 1/distance (a neighbour at
  // distance 0 then takes all) when by_distance.
  virtual void vote(MatrixView<const std::int32_t> indices, MatrixView<const T> squared, VectorView<const std::int32_t> y,
                    bool by_distance, MatrixView<T> proba) = 0;

  // --- naive Bayes ---
  // Per class c < mean.rows: weighted count, mean and population variance of each column over the rows with y = c. Empty rows
  // mean all; y and weights go by position in rows.
  virtual void class_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y,
                             VectorView<const double> weights, VectorView<double> count, MatrixView<double> mean, MatrixView<double> variance) = 0;
  // Z[i, c] = log_prior[c] - 0.5 sum_j (log(2 pi var[c, j]) + (X[i, j] - mean[c, j])^2 / var[c, j]).
  virtual void gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean, MatrixView<const double> variance,
                                       VectorView<const double> log_prior, MatrixView<T> Z) = 0;

  // --- columns ---
  // out[i, c] = X[rows[i], columns[c]], a column any number of times.
  virtual void take_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> columns,
                            MatrixView<T> out) = 0;
  // out[i, j] = what the dictionary of column j says of X[rows[i], j]. Its keys, ascending and without NaN, are
  // keys[offsets[j] .. offsets[j + 1] - 1], the answers lie in `values` at the same places; NaN gives missing[j], a cell that is
  // no key unknown[j].
  virtual void translate(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int64_t> offsets,
                         VectorView<const T> keys, VectorView<const T> values, VectorView<const T> missing,
                         VectorView<const T> unknown, MatrixView<T> out) = 0;
  // out[i, positions[i, j]] = 1 for each position in 0 .. out.cols - 1, all else 0. Positions are integers.
  virtual void one_hot(MatrixView<const T> positions, MatrixView<T> out) = 0;
  // X[i, j] = fill[j] where X[i, j] is missing[j]; a NaN there matches NaN.
  virtual void fill_missing(VectorView<const T> missing, VectorView<const T> fill, MatrixView<T> X) = 0;
  // out[i, c] = 1 where X[i, columns[c]] is missing[columns[c]], else 0.
  virtual void mark_missing(MatrixView<const T> X, VectorView<const T> missing, VectorView<const std::int32_t> columns,
                            MatrixView<T> out) = 0;
  // sorted[j, 0 .. present[j]) are the numbers of column j over `rows`, ascending; NaN is left out, and the rest of row j is infinity.
  virtual void sort_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, MatrixView<T> sorted,
                            VectorView<std::int64_t> present) = 0;
  // out[i, j] = quantile q[i] (0 to 1) of column j over `rows`, NaN left out, linear between neighbours as numpy has it; NaN where
  // nothing is left.
  virtual void column_quantiles(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> q,
                                MatrixView<double> out) = 0;
  // As column_moments, but NaN is left out; count: the weight of what is left. Mean and variance are NaN where nothing is left.
  virtual void present_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                               VectorView<double> count, VectorView<double> mean, VectorView<double> variance) = 0;
  // out[i, j] = map(X[i, j]; a[j], b[j]) in double, rounded once; an empty a or b is 0. `out` may be X. Agree within 4 ulp of the largest step.
  virtual void map_columns(ColumnMap map, VectorView<const double> a, VectorView<const double> b, MatrixView<const T> X,
                           MatrixView<T> out) = 0;
  // out[i, j] = place of X[i, j] among `quantiles`[j, :] (ascending), in terms of `references` (0 to 1), or the normal deviate there.
  virtual void quantile_ranks(MatrixView<const T> X, MatrixView<const double> quantiles, VectorView<const double> references,
                              bool normal, MatrixView<T> out) = 0;
  // Bin of X[i, j]: how many of its edges, edges[first_edge[j] .. first_edge[j + 1]), are not greater. out[i, j] is the bin, or, where
  // first_out is given, out[i, first_out[j] + bin] = 1 and the rest 0.
  virtual void bin_columns(MatrixView<const T> X, VectorView<const double> edges, VectorView<const std::int32_t> first_edge,
                           VectorView<const std::int32_t> first_out, MatrixView<T> out) = 0;
  // out[i, j * n_out ..] = the splines of column j at X[i, j], in double, rounded once; NaN gives zeros.
  virtual void spline_basis(MatrixView<const T> X, const SplineBasis& spline, MatrixView<T> out) = 0;
  virtual void normalize_rows(RowNorm norm, MatrixView<T> X) = 0;   // each row divided by its norm, unless that is below 10 eps
  // out[i, c] = X[i, feature[c]] * out[i, parent[c]]; parent[c] < c, or -1 for 1; feature -1 is 1.
  virtual void monomials(MatrixView<const T> X, VectorView<const std::int32_t> feature, VectorView<const std::int32_t> parent,
                         MatrixView<T> out) = 0;
  // K[i, j] = kernel(K[i, j]) in double, rounded once; the squared norms of the rows are read by kGaussian alone.
  virtual void apply_kernel(const Kernel& kernel, VectorView<const T> x_norms, VectorView<const T> y_norms, MatrixView<T> K) = 0;

  // --- clusters ---
  // labels[i] = the row of `centers` nearest to row i of X by Euclidean distance; exact, of equal distances the first. Returns how
  // many labels differ from what they held. Fused: no rows x centers matrix is stored. Waits.
  virtual std::int64_t assign_nearest(MatrixView<const T> X, MatrixView<const T> centers, VectorView<std::int32_t> labels) = 0;
  // squared[i] = |X[i] - centers[labels[i]]|^2.
  virtual void squared_to_assigned(MatrixView<const T> X, MatrixView<const T> centers, VectorView<const std::int32_t> labels,
                                   VectorView<double> squared) = 0;
  // Row c of sums (centers x columns + 1): the sum of weights[i] * X[i, :] over the rows with labels[i] = c, then that of their
  // weights. Empty weights mean 1.
  virtual void label_sums(MatrixView<const T> X, VectorView<const std::int32_t> labels, VectorView<const double> weights,
                          MatrixView<double> sums) = 0;
  // A step of k-means++: least[c, i] = min(closest[i], |X[i] - X[candidates[c]]|^2), totals[c] = sum_i weights[i] * least[c, i].
  // Empty closest means infinity, empty weights 1.
  virtual void nearest_within(MatrixView<const T> X, VectorView<const std::int32_t> candidates, VectorView<const T> closest,
                              VectorView<const double> weights, MatrixView<T> least, VectorView<double> totals) = 0;
  // found[e] = the first i where the sum of weights[j] * values[j] over j <= i reaches thresholds[e], or the last i.
  virtual void cumulative_search(VectorView<const T> values, VectorView<const double> weights, VectorView<const double> thresholds,
                                VectorView<std::int32_t> found) = 0;
  // assign_nearest() and label_sums() of the same rows for centres that move, without work on rows that provably stay where they are.
  // labels start at -1 and are written by the object alone; it borrows all three. Empty weights mean 1.
  virtual std::unique_ptr<MovingCenters<T>> follow_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                           VectorView<std::int32_t> labels) = 0;

  // --- sparse rows ---
  // Columns of a sparse A are served by the rows of its transpose. All dense operands are double.
  // offsets (rows + 1): where the rows of sparse_gather's result begin. Returns the number of entries. Waits.
  virtual std::int64_t sparse_offsets(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<std::int64_t> offsets) = 0;
  // Row i of out = row rows[i] of A, each value times scale[its column] in double, rounded once; empty scale 1. out.offsets is given.
  virtual void sparse_gather(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> scale, CsrView<T> out) = 0;
  // out = A', with as many entries: at most 2^31 - 1.
  virtual void sparse_transpose(CsrView<const T> A, CsrView<T> out) = 0;
  // C = A B; B is A.cols x k, C A.rows x k. One column: entries in lanes; more: entries in order.
  virtual void sparse_multiply(CsrView<const T> A, MatrixView<const double> B, MatrixView<double> C) = 0;
  // Mean and population variance along each row of A, zeros included, weighted if weights (one a column of A, sum above 0) are given.
  virtual void sparse_moments(CsrView<const T> A, VectorView<const double> weights, VectorView<double> mean,
                              VectorView<double> variance) = 0;
  // Smallest and largest along each row of A, zeros included; NaN is left out.
  virtual void sparse_range(CsrView<const T> A, VectorView<T> minimum, VectorView<T> maximum) = 0;
  // out[i, j] = (A[rows[i], j] - shift[j]) * scale[j], in double, rounded once; zeros of A as well.
  virtual void sparse_to_dense(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                               VectorView<const double> scale, MatrixView<T> out) = 0;
  virtual void sparse_normalize(RowNorm norm, CsrView<T> A) = 0;   // as normalize_rows

  // --- convex problems ---
  // Solves each path by cyclic (or random) coordinate descent with gap-safe screening, until the duality gap is at most tol * y'y, or
  // max_iter; everything in double. CPU and CUDA reach the same gap, each by the same order of coordinates. Cost: d a coordinate
  // that changes; paths run side by side.
  virtual void elastic_net_paths(std::span<const ElasticNetPath> paths, const ElasticNetOptions& options) = 0;
};

// One device with everything that runs on it. A resource: made once per process by engine/backend/loader.h.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual DeviceTraits traits() const { return {}; }   // memory of its own, one fit at a time
  virtual Memory& memory() = 0;
  virtual Backend<float>& f32() = 0;
  virtual Backend<double>& f64() = 0;
  virtual TreeOps& trees() = 0;

  template <class T>
  Backend<T>& ops();
};

template <>
inline Backend<float>& Device::ops<float>() { return f32(); }
template <>
inline Backend<double>& Device::ops<double>() { return f64(); }

}  // namespace kedge::engine
