// The CPU body of Backend<T>. Each family of ops is a class in a file of its own, one built on the other; CpuBackend is the last.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/group_neighbours.h"

namespace kedge::engine {

// tables.cc
template <class T>
class CpuTables : public Backend<T> {
 public:
  std::optional<Cell> find_nonfinite(MatrixView<const T> X) override;
  void gather(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> shift,
              VectorView<const double> scale, MatrixView<T> out) override;
  void column_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                      VectorView<double> mean, VectorView<double> variance) override;
  void column_range(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<T> minimum,
                    VectorView<T> maximum) override;
  void clip(MatrixView<T> X, T low, T high) override;
};

// linear.cc, weighted_gram.cc, factorise.cc, design.cc
template <class T>
class CpuLinear : public CpuTables<T> {
 public:
  void gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta, MatrixView<T> C) override;
  void gram(T alpha, MatrixView<const T> A, MatrixView<T> C) override;
  void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) override;
  bool solve_positive(MatrixView<T> A, MatrixView<T> B) override;
  void eigh(MatrixView<T> A, VectorView<T> w) override;
  void svd(MatrixView<T> A, MatrixView<T> U, VectorView<T> s, MatrixView<T> Vt) override;
  void orthonormalize(MatrixView<T> A) override;
  void design_rows(const Design<T>& design, std::int64_t first, MatrixView<double> out) override;
  void design_gram(const Design<T>& design, MatrixView<double> G) override;
  void design_products(const Design<T>& design, VectorView<const std::int32_t> columns, MatrixView<double> P,
                       VectorView<double> squares) override;
  void design_triangle(const Design<T>& design, MatrixView<double> R) override;
};

// rows.cc
template <class T>
class CpuRows : public CpuLinear<T> {
 public:
  void fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) override;
  void add_to_rows(VectorView<const T> v, MatrixView<T> Z) override;
  void column_sums(MatrixView<const T> Z, VectorView<double> sums) override;
  void row_squared_norms(MatrixView<const T> X, VectorView<T> norms) override;
  void softmax_rows(MatrixView<T> Z) override;
  void argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) override;
  double logistic_loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
                       VectorView<const double> weights) override;
  double logistic_gradient(MatrixView<const T> X, MatrixView<const T> B, VectorView<const T> b, VectorView<const std::int32_t> y,
                           VectorView<const double> weights, MatrixView<T> Z, MatrixView<T> G) override;
  void logistic_curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights, MatrixView<double> W) override;
};

// neighbours.cc, neighbour_index.cc, distances.cc
template <class T>
class CpuNeighbours : public CpuRows<T>, public GroupNeighbours<T> {
 public:
  void nearest(MatrixView<const T> queries, MatrixView<const T> points, int k, MatrixView<std::int32_t> indices,
               MatrixView<T> squared) override;
  bool nearest_of_others(MatrixView<const T> X, std::span<const std::int32_t> groups, int k, const std::function<void()>& pause,
                         MatrixView<std::int32_t> indices, MatrixView<T> squared) override;
  std::unique_ptr<NeighbourIndex<T>> index_points(MatrixView<const T> points, const Distance& distance) override;
  void distances(MatrixView<const T> X, MatrixView<const T> Y, const Distance& distance, MatrixView<T> out) override;
  void vote(MatrixView<const std::int32_t> indices, MatrixView<const T> squared, VectorView<const std::int32_t> y,
            bool by_distance, MatrixView<T> proba) override;
};

// bayes.cc
template <class T>
class CpuBayes : public CpuNeighbours<T> {
 public:
  void class_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> y,
                     VectorView<const double> weights, VectorView<double> count, MatrixView<double> mean,
                     MatrixView<double> variance) override;
  void gaussian_log_likelihood(MatrixView<const T> X, MatrixView<const double> mean, MatrixView<const double> variance,
                               VectorView<const double> log_prior, MatrixView<T> Z) override;
};

// columns.cc, column_maps.cc, categories.cc
template <class T>
class CpuColumns : public CpuBayes<T> {
 public:
  void take_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> columns,
                    MatrixView<T> out) override;
  void translate(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int64_t> offsets,
                 VectorView<const T> keys, VectorView<const T> values, VectorView<const T> missing, VectorView<const T> unknown,
                 MatrixView<T> out) override;
  void one_hot(MatrixView<const T> positions, MatrixView<T> out) override;
  void fill_missing(VectorView<const T> missing, VectorView<const T> fill, MatrixView<T> X) override;
  void mark_missing(MatrixView<const T> X, VectorView<const T> missing, VectorView<const std::int32_t> columns,
                    MatrixView<T> out) override;
  void sort_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, MatrixView<T> sorted,
                    VectorView<std::int64_t> present) override;
  void column_quantiles(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> q,
                        MatrixView<double> out) override;
  void present_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                       VectorView<double> count, VectorView<double> mean, VectorView<double> variance) override;
  void map_columns(ColumnMap map, VectorView<const double> a, VectorView<const double> b, MatrixView<const T> X,
                   MatrixView<T> out) override;
  void quantile_ranks(MatrixView<const T> X, MatrixView<const double> quantiles, VectorView<const double> references, bool normal,
                      MatrixView<T> out) override;
  void bin_columns(MatrixView<const T> X, VectorView<const double> edges, VectorView<const std::int32_t> first_edge,
                   VectorView<const std::int32_t> first_out, MatrixView<T> out) override;
  void spline_basis(MatrixView<const T> X, const SplineBasis& spline, MatrixView<T> out) override;
  void normalize_rows(RowNorm norm, MatrixView<T> X) override;
  void monomials(MatrixView<const T> X, VectorView<const std::int32_t> feature, VectorView<const std::int32_t> parent,
                 MatrixView<T> out) override;
  void apply_kernel(const Kernel& kernel, VectorView<const T> x_norms, VectorView<const T> y_norms, MatrixView<T> K) override;
};

// clusters.cc, moving_centers.cc
template <class T>
class CpuClusters : public CpuColumns<T> {
 public:
  std::int64_t assign_nearest(MatrixView<const T> X, MatrixView<const T> centers, VectorView<std::int32_t> labels) override;
  void squared_to_assigned(MatrixView<const T> X, MatrixView<const T> centers, VectorView<const std::int32_t> labels,
                           VectorView<double> squared) override;
  void label_sums(MatrixView<const T> X, VectorView<const std::int32_t> labels, VectorView<const double> weights,
                  MatrixView<double> sums) override;
  void nearest_within(MatrixView<const T> X, VectorView<const std::int32_t> candidates, VectorView<const T> closest,
                      VectorView<const double> weights, MatrixView<T> least, VectorView<double> totals) override;
  void cumulative_search(VectorView<const T> values, VectorView<const double> weights, VectorView<const double> thresholds,
                        VectorView<std::int32_t> found) override;
  std::unique_ptr<MovingCenters<T>> follow_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                   VectorView<std::int32_t> labels) override;
};

// sparse.cc
template <class T>
class CpuSparse : public CpuClusters<T> {
 public:
  std::int64_t sparse_offsets(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<std::int64_t> offsets) override;
  void sparse_gather(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> scale, CsrView<T> out) override;
  void sparse_transpose(CsrView<const T> A, CsrView<T> out) override;
  void sparse_multiply(CsrView<const T> A, MatrixView<const double> B, MatrixView<double> C) override;
  void sparse_moments(CsrView<const T> A, VectorView<const double> weights, VectorView<double> mean,
                      VectorView<double> variance) override;
  void sparse_range(CsrView<const T> A, VectorView<T> minimum, VectorView<T> maximum) override;
  void sparse_to_dense(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                       VectorView<const double> scale, MatrixView<T> out) override;
  void sparse_normalize(RowNorm norm, CsrView<T> A) override;
};

// convex.cc
template <class T>
class CpuConvex : public CpuSparse<T> {
 public:
  void elastic_net_paths(std::span<const ElasticNetPath> paths, const ElasticNetOptions& options) override;
};

template <class T>
class CpuBackend final : public CpuConvex<T> {
};

}  // namespace kedge::engine
