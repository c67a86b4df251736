// Graphs of neighbours, kernels and given affinities; the leading eigenvectors of their normalised matrices.
#include "engine/estimators/manifold/affinity_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/estimators/checks.h"
#include "engine/estimators/kernels/block_lanczos.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/neighbors/neighbor_model.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

std::vector<double> roots_of(const char* owner, std::vector<double> sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    require(sums[i] >= 0, ErrorCode::kBadData, "{}: the affinities of row {} have the sum {:.3g}, must not be negative",
            owner, i, sums[i]);
    sums[i] = sums[i] > 0 ? std::sqrt(sums[i]) : 1;
  }
  return sums;
}

std::int64_t lone_rows(const std::vector<double>& sums) {
  return std::ranges::count(sums, 0.0);
}

// Of affinities on the device.
AffinityGraph scaled(const Context& ctx, const char* owner, Matrix<double> A, std::string cure) {
  const std::int64_t n = A.rows();
  const MatrixView<double> diagonal(A.data(), n, 1, n + 1);
  MapOps<double>& maps = *ctx.ops<double>().maps;
  maps.combine(Binary::kSubtract, diagonal, diagonal, diagonal);
  Array<double> sums(ctx.memory(), n);
  ctx.ops<double>().rows->column_sums(std::as_const(A).view(), sums.view());
  const std::vector<double> totals = sums.to_host();
  AffinityGraph made{.n = n,
                     .dense = {},
                     .sparse = {},
                     .roots = roots_of(owner, totals),
                     .lone_rows = lone_rows(totals),
                     .cure = std::move(cure)};
  const Matrix<double> down(ctx.memory(), n, 1, made.roots), across(ctx.memory(), 1, n, made.roots);
  maps.combine(Binary::kDivide, std::as_const(A).view(), down.view(), A.view());
  maps.combine(Binary::kDivide, std::as_const(A).view(), across.view(), A.view());
  made.dense = std::move(A);
  return made;
}

std::vector<double> sums_of(const Affinities& affinities) {
  std::vector<double> sums(static_cast<std::size_t>(affinities.n_rows()), 0.0);
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (auto e = static_cast<std::size_t>(affinities.row_begin[i]);
         e < static_cast<std::size_t>(affinities.row_begin[i + 1]); ++e)
      if (affinities.columns[e] != static_cast<std::int32_t>(i)) sums[i] += affinities.values[e];
  return sums;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Products with a block that take twice as long as a decomposition of the graph's matrix, roughly.
double decomposition_products(const AffinityGraph& graph, std::int64_t count) {
  constexpr double kSparse = 20;   // entries of a dense matrix in the time of one of a sparse matrix
  const auto n = static_cast<double>(graph.n), width = static_cast<double>(count + BlockLanczos::kMore);
  const double entries = graph.is_sparse() ? kSparse * static_cast<double>(graph.sparse.view().n_entries()) : n * n;
  return 4 * n * n * n / (std::max(entries, 1.0) * width);
}

void warn_of_parts(const Context& ctx, const char* owner, const AffinityGraph& graph,
                   const std::vector<double>& values) {
  constexpr double kApart = 1e-9;   // least distance of two eigenvalues that are not the same
  if (graph.lone_rows > 0)
    return ctx.warn(
        fmt::format("{}: the graph of the rows is not connected: {} of {} rows have no edge, so their places "
                    "to the others mean nothing; {}",
                    owner, graph.lone_rows, graph.n, graph.cure));
  if (values.size() > 1 && values[1] > 1 - kApart)
    return ctx.warn(
        fmt::format("{}: the graph of the rows is not connected, or hardly: it falls into parts, whose places "
                    "to each other mean nothing; {}",
                    owner, graph.cure));
  for (std::size_t i = 2; i < values.size(); ++i)
    if (values[i - 1] - values[i] < kApart)
      return ctx.warn(
          fmt::format("{}: eigenvalues {} and {} of the graph do not differ, so their vectors are any of a "
                      "plane; {}, or change n_components",
                      owner, i, i + 1, graph.cure));
}

}   // namespace

AffinityGraph graph_of_affinities(const Context& ctx, const Affinities& affinities) {
  const std::vector<double> sums = sums_of(affinities);
  AffinityGraph made{.n = affinities.n_rows(),
                     .dense = {},
                     .sparse = {},
                     .roots = roots_of("graph", sums),
                     .lone_rows = lone_rows(sums),
                     .cure = "raise n_neighbors"};
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  for (std::size_t i = 0; i < made.roots.size(); ++i) {
    for (auto e = static_cast<std::size_t>(affinities.row_begin[i]);
         e < static_cast<std::size_t>(affinities.row_begin[i + 1]); ++e) {
      const std::int32_t j = affinities.columns[e];
      if (j == static_cast<std::int32_t>(i)) continue;
      columns.push_back(j);
      values.push_back(affinities.values[e] / made.roots[i] / made.roots[static_cast<std::size_t>(j)]);
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  made.sparse = CsrMatrix<double>(ctx.memory(), made.n, offsets, columns, values);
  return made;
}

template <class T>
AffinityGraph graph_of_neighbors(const Context& ctx, const char* owner, const Samples<T>& X, std::int64_t k) {
  NeighborModel<T> model;
  model.fit(ctx, X, NeighborParams{});
  NeighborLists lists{.n = X.n_rows(), .k = k, .indices = {}, .distances = {}};
  model.nearest(ctx, owner, X, k, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      const auto indices = found.indices_of(i);
      lists.indices.insert(lists.indices.end(), indices.begin(), indices.end());
    }
  });
  return graph_of_affinities(ctx, with_transpose(lists, std::vector<double>(lists.indices.size(), 0.5), std::plus<>{}));
}

template <class T>
AffinityGraph graph_of_kernel(const Context& ctx, const char* owner, const Samples<T>& X, const KernelChoice& kernel) {
  Matrix<T> scratch;
  const MatrixView<const T> rows = X.values(ctx, scratch);
  Matrix<T> K = kernel_matrix<T>(ctx, kernel, rows, rows);
  std::string cure = "change the affinity";
  if (kernel.name == "rbf" || kernel.name == "laplacian")
    cure = fmt::format("lower gamma, which is {:.6g}", kernel.gamma);
  if constexpr (std::is_same_v<T, double>) {
    return scaled(ctx, owner, std::move(K), std::move(cure));
  } else {
    Matrix<double> wide(ctx.memory(), K.rows(), K.cols());
    ctx.ops<T>().design->gather({.X = K.view()}, 0, wide.view());
    return scaled(ctx, owner, std::move(wide), std::move(cure));
  }
}

template <class T>
AffinityGraph graph_of_matrix(const Context& ctx, const char* owner, const Samples<T>& X) {
  const std::int64_t n = X.n_rows();
  require(X.n_cols() == n, ErrorCode::kBadData,
          "{}: precomputed affinities have {} rows and {} columns, must have as many of both", owner, n, X.n_cols());
  std::vector<double> values = host_values(ctx, X);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      double &below = values[static_cast<std::size_t>(i * n + j)], &above = values[static_cast<std::size_t>(j * n + i)];
      below = above = 0.5 * (below + above);
    }
  return scaled(ctx, owner, Matrix<double>(ctx.memory(), n, n, values), "give larger affinities");
}

Eigenpairs graph_eigenpairs(const Context& ctx, const char* owner, AffinityGraph& graph, std::int64_t count,
                            double residual) {
  const auto product = [&](MatrixView<const double> Y, MatrixView<double> out) {
    if (graph.is_sparse()) ctx.ops<double>().sparse->multiply(std::as_const(graph.sparse).view(), Y, out);
    else
      ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(graph.dense).view(), Y, 0.0,
                                     out);
  };
  constexpr std::int64_t kMostRows = 8192;   // that are decomposed as a matrix, in some minutes
  const double most = graph.n <= kMostRows ? decomposition_products(graph, count) : kInfinity;
  if (std::optional<Eigenpairs> found = leading_eigenpairs(ctx, graph.n, count, product, residual, most))
    return *std::move(found);
  require(graph.n <= kMostRows, ErrorCode::kBadData,
          "{}: the {} leading eigenvectors of the graph of {} rows were not found, because their eigenvalues hardly "
          "differ; {}, or lower n_components",
          owner, count, graph.n, graph.cure);
  if (graph.is_sparse()) {
    graph.dense = Matrix<double>(ctx.memory(), graph.n, graph.n);
    ctx.ops<double>().sparse->to_dense(std::as_const(graph.sparse).view(), {}, {}, {}, graph.dense.view());
  }
  return leading_eigenpairs(ctx, std::move(graph.dense), count);
}

std::vector<double> spectral_map(const Context& ctx, const char* owner, AffinityGraph graph, std::int64_t count) {
  const Eigenpairs pairs = graph_eigenpairs(ctx, owner, graph, count);
  warn_of_parts(ctx, owner, graph, pairs.values);
  const auto n = static_cast<std::size_t>(graph.n), k = static_cast<std::size_t>(count);
  std::vector<double> map(n * k);
  for (std::size_t c = 0; c < k; ++c) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double place = map[i * k + c] = pairs.vectors[c * n + i] / graph.roots[i];
      if (std::abs(place) > std::abs(largest)) largest = place;
    }
    if (largest < 0)
      for (std::size_t i = 0; i < n; ++i) map[i * k + c] = -map[i * k + c];
  }
  return map;
}

std::int64_t dense_graph_bytes(std::int64_t rows, std::int64_t count) {
  const std::int64_t basis = std::min(bytes_of(rows, 30 * (count + 8), memory::kDouble), 2 * memory::square(rows));
  return 4 * memory::square(rows) + basis + bytes_of(rows, 4 * count, memory::kDouble);
}

std::int64_t sparse_graph_bytes(std::int64_t rows, std::int64_t k, std::int64_t count) {
  constexpr std::int64_t kEdge = 120;   // lists, entries sorted by column, the matrix on the host and on the device
  const std::int64_t basis = std::min(bytes_of(rows, 34 * (count + 8), memory::kDouble), 4 * memory::square(rows));
  return bytes_of(rows, k, kEdge) + basis + bytes_of(rows, 4 * count + 8, memory::kDouble);
}

template AffinityGraph graph_of_neighbors(const Context&, const char*, const Samples<float>&, std::int64_t);
template AffinityGraph graph_of_neighbors(const Context&, const char*, const Samples<double>&, std::int64_t);
template AffinityGraph graph_of_kernel(const Context&, const char*, const Samples<float>&, const KernelChoice&);
template AffinityGraph graph_of_kernel(const Context&, const char*, const Samples<double>&, const KernelChoice&);
template AffinityGraph graph_of_matrix(const Context&, const char*, const Samples<float>&);
template AffinityGraph graph_of_matrix(const Context&, const char*, const Samples<double>&);

}   // namespace kedge::engine
