// Principal components by covariance, by singular value decomposition, and by random projection.
#include "engine/estimators/decomposition/pca_solvers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>

#include "engine/backend/linked_tables.h"
#include "engine/comm/dealt_tables.h"
#include "engine/core/host_view.h"
#include "engine/core/stop.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockRows = 8192;
constexpr std::int64_t kPartialEntries = std::int64_t{1} << 22;   // doubles of partial sums that ranks bring, 32 MiB
constexpr std::int64_t kMostGroups = 64;                          // of blocks, with a partial sum each
constexpr std::int64_t kRoundBytes = std::int64_t{8} << 20;       // of rows that ranks give each other at once

template <class T>
Samples<T> centred(const Samples<T>& X, const std::vector<double>& mean) {
  return X.then(mean, std::vector<double>(mean.size(), 1.0));
}

// As for_centred_blocks(), for the rows of a part.
template <class T, class Visit>
void for_blocks_of(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean, Part rows,
                   const Visit& visit) {
  const bool is_centred = std::ranges::all_of(mean, [](double m) { return m == 0; });   // and need not be copied
  const Samples<T> values = is_centred ? X : centred(X, mean);
  const std::int64_t height = block_rows(ctx, kBlockRows, X.n_cols());
  Matrix<T> block;
  for (std::int64_t first = rows.begin; first < rows.end; first += height) {
    ctx.check_stop();
    visit(first, values.values(ctx, first, std::min(height, rows.end - first), block));
  }
}

// The ranks that divide passes over these rows; null: each makes the whole pass.
template <class T>
Ranks* ranks_of_blocks(const Context& ctx, const Samples<T>& X) {
  return X.n_rows() >= kLeastDealtRows && ctx.device.traits().uses_host_memory ? ranks_of_row_sums() : nullptr;
}

// Fills the matrix made of X on all ranks, each of which fills whole blocks of rows, since bits of a product may depend
// on them. In rounds, so that what travels is small beside the matrix.
template <class T, class Fill>
void give_rows(const Context& ctx, Ranks& ranks, const Samples<T>& X, Matrix<T>& made, const Fill& fill) {
  const std::int64_t n = X.n_rows(), cols = made.cols(), height = block_rows(ctx, kBlockRows, X.n_cols()),
                     blocks = (n + height - 1) / height, row_bytes = cols * static_cast<std::int64_t>(sizeof(T)),
                     rounds = std::clamp<std::int64_t>(n * row_bytes / kRoundBytes + 1, 1, blocks);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto rows_of = [&](int rank) {
      const Part own = part_of_rank(rank, ranks.size(), blocks);
      const std::int64_t first = own.begin + own.size() * round / rounds,
                         last = own.begin + own.size() * (round + 1) / rounds;
      return Part{std::min(n, first * height), std::min(n, last * height)};
    };
    const PartedBytes shares = ranks.share([&] {
      const Part rows = rows_of(ranks.rank());
      fill(rows);
      ByteWriter out;
      out.append(host_view(made.view()).row(rows.begin).data(), static_cast<std::size_t>(rows.size() * row_bytes));
      return out.take();
    });
    for (int r = 0; r < ranks.size(); ++r)
      if (r != ranks.rank())
        ctx.memory().to_device(made.data() + rows_of(r).begin * cols, shares.part(r).data(), shares.part(r).size());
  }
}

// The leading right singular vectors, and variances made of the singular values.
template <class T>
Spectrum spectrum_of(const std::vector<T>& singular, const std::vector<T>& vectors, std::int64_t count, std::int64_t n) {
  Spectrum spectrum;
  const std::size_t cols = singular.empty() ? 0 : vectors.size() / singular.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const double s = singular[static_cast<std::size_t>(i)];
    spectrum.variance.push_back(s * s / static_cast<double>(std::max<std::int64_t>(n - 1, 1)));
  }
  spectrum.components.assign(vectors.begin(), vectors.begin() + static_cast<std::ptrdiff_t>(cols * spectrum.variance.size()));
  return spectrum;
}

// Log-likelihood of `rank` components (Minka 2000, as scikit-learn's _assess_dimension).
double rank_likelihood(const std::vector<double>& spectrum, std::int64_t rank, double n) {
  constexpr double kTiny = 1e-15;
  const auto d = static_cast<std::int64_t>(spectrum.size());
  if (spectrum[rank - 1] < kTiny) return -std::numeric_limits<double>::infinity();
  const double r = static_cast<double>(rank), rest = static_cast<double>(d - rank);
  double likelihood = -r * std::numbers::ln2;
  for (std::int64_t i = 1; i <= rank; ++i) {
    const double half = static_cast<double>(d - i + 1) / 2;
    likelihood += std::lgamma(half) - std::log(std::numbers::pi) * half;
  }
  for (std::int64_t i = 0; i < rank; ++i) likelihood -= std::log(spectrum[i]) * n / 2;
  const double noise = std::max(kTiny, std::accumulate(spectrum.begin() + rank, spectrum.end(), 0.0) / rest);
  likelihood -= std::log(noise) * n * rest / 2;
  const double m = static_cast<double>(d) * r - r * (r + 1) / 2;
  likelihood += std::log(2 * std::numbers::pi) * (m + r) / 2;
  double curvature = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    check_job_stop();
    for (std::int64_t j = i + 1; j < d; ++j) {
      const double other = j < rank ? spectrum[j] : noise;
      curvature += std::log((spectrum[i] - spectrum[j]) * (1 / other - 1 / spectrum[i])) + std::log(n);
    }
  }
  return likelihood - curvature / 2 - r * std::log(n) / 2;
}

// (X - mean)' (X - mean): by the design's one pass over X, in double, where rows lie on a device, and by blocks of rows
// in T, which processors multiply faster, where they lie in the host's memory. Sparse samples are made dense block by
// block. Blocks are added in groups, which ranks divide; the shape alone decides which they are.
template <class T>
std::vector<double> centred_gram(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean) {
  const std::int64_t d = X.n_cols();
  if (!ctx.device.traits().uses_host_memory && !X.is_sparse()) {
    Matrix<double> gram(ctx.memory(), d, d);
    ctx.ops<T>().design->gram(CentredDesign<T>(ctx, X, mean).design, gram.view());
    return gram.to_host();
  }
  const std::int64_t n = X.n_rows(), height = block_rows(ctx, kBlockRows, d), blocks = (n + height - 1) / height,
                     most = std::clamp<std::int64_t>(kPartialEntries / (d * d), 1, kMostGroups),
                     group_rows = (blocks + most - 1) / most * height;
  Matrix<T> gram(ctx.memory(), d, d);
  std::vector<double> total(static_cast<std::size_t>(d * d)), sum(total.size());
  const auto make = [&](Part groups, const auto& take) {
    for (std::int64_t first = groups.begin * group_rows; first < std::min(n, groups.end * group_rows);
         first += group_rows) {
      std::ranges::fill(sum, 0.0);
      const Part rows{first, std::min(n, first + group_rows)};
      for_blocks_of(ctx, X, mean, rows, [&](std::int64_t, MatrixView<const T> block) {
        ctx.ops<T>().linear->gram(T{1}, block, gram.view());
        const std::vector<T> host = gram.to_host();
        for (std::size_t i = 0; i < host.size(); ++i) sum[i] += host[i];
      });
      take(sum);
    }
  };
  add_in_order(ranks_of_blocks(ctx, X), (n + group_rows - 1) / group_rows, make, [&](const std::vector<double>& part) {
    for (std::size_t i = 0; i < part.size(); ++i) total[i] += part[i];
  });
  return total;
}

// Multiplies by the centred matrix or its transpose (the one that is tall), and makes the result orthonormal if the
// caller wants it.
template <class T>
class RangeFinder {
 public:
  RangeFinder(const Context& ctx, MatrixView<const T> A)
      : ops_(ctx.ops<T>()), A_(A), tall_(A.rows >= A.cols ? Transpose::kNo : Transpose::kYes) {}
  // out = M Q, or M' Q; M is A or A', with at least as many rows as columns.
  void forward(const Matrix<T>& Q, Matrix<T>& out) {
    ops_.linear->gemm(tall_, Transpose::kNo, T{1}, A_, Q.view(), T{0}, out.view());
  }
  void backward(const Matrix<T>& Q, Matrix<T>& out) {
    const Transpose flipped = tall_ == Transpose::kNo ? Transpose::kYes : Transpose::kNo;
    ops_.linear->gemm(flipped, Transpose::kNo, T{1}, A_, Q.view(), T{0}, out.view());
  }
  // B = Q' M.
  void project(const Matrix<T>& Q, Matrix<T>& B) {
    ops_.linear->gemm(Transpose::kYes, tall_, T{1}, Q.view(), A_, T{0}, B.view());
  }
  bool is_transposed() const { return tall_ == Transpose::kYes; }

 private:
  Backend<T>& ops_;
  MatrixView<const T> A_;
  Transpose tall_;
};

}  // namespace

template <class T>
void for_centred_blocks(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean,
                        const std::function<void(std::int64_t, MatrixView<const T>)>& visit) {
  for_blocks_of(ctx, X, mean, Part{0, X.n_rows()}, visit);
}

template <class T>
Spectrum covariance_spectrum(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean, std::int64_t count) {
  const std::int64_t d = X.n_cols(), n = X.n_rows();
  const std::int64_t r = 4 * count <= d ? count : d;   // beyond a quarter, all of them cost no more
  std::vector<double> covariance = centred_gram(ctx, X, mean);
  for (double& c : covariance) c /= static_cast<double>(std::max<std::int64_t>(n - 1, 1));
  Matrix<double> vectors(ctx.memory(), d, d, covariance);
  double total = 0;
  for (std::int64_t i = 0; i < d; ++i) total += covariance[static_cast<std::size_t>(i * d + i)];
  Array<double> values(ctx.memory(), r);
  ctx.ops<double>().factorise->eigh(vectors.view(), values.view());

  const std::vector<double> ascending = values.to_host(), rows = vectors.to_host();
  Spectrum spectrum{.n_rest = d - r};
  if (r < d) spectrum.rest = std::max(0.0, total - std::accumulate(ascending.begin(), ascending.end(), 0.0));
  spectrum.components.reserve(static_cast<std::size_t>(r * d));
  for (std::int64_t i = r; i-- > 0;) {
    spectrum.variance.push_back(std::max(0.0, ascending[static_cast<std::size_t>(i)]));
    spectrum.components.insert(spectrum.components.end(), rows.begin() + i * d, rows.begin() + (i + 1) * d);
  }
  return spectrum;
}

template <class T>
bool is_well_conditioned(const Spectrum& spectrum, std::int64_t kept) {
  constexpr double kSmallest = std::is_same_v<T, double> ? 1e-8 : 1e-3;
  return kept == 0 || spectrum.variance[static_cast<std::size_t>(kept - 1)] >= kSmallest * spectrum.variance[0];
}

template <class T>
Spectrum svd_spectrum(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean) {
  const std::int64_t n = X.n_rows(), d = X.n_cols(), r = std::min(n, d);
  Matrix<T> A, U(ctx.memory(), n, r), Vt(ctx.memory(), r, d);
  centred(X, mean).values(ctx, A);
  Array<T> s(ctx.memory(), r);
  ctx.ops<T>().factorise->svd(A.view(), U.view(), s.view(), Vt.view());
  return spectrum_of(s.to_host(), Vt.to_host(), r, n);
}

template <class T>
Spectrum randomized_spectrum(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean,
                             const RandomizedOptions& options) {
  const std::int64_t n = X.n_rows(), d = X.n_cols(), small = std::min(n, d), large = std::max(n, d);
  const std::int64_t width = std::min(options.n_components + options.n_oversamples, small);
  const std::int64_t n_iter = options.iterations(n, d);
  const bool normalize = options.normalizer == "auto" ? n_iter > 2 : options.normalizer != "none";
  Backend<T>& ops = ctx.ops<T>();
  Matrix<T> A, Q(ctx.memory(), small, width), Z(ctx.memory(), large, width);
  centred(X, mean).values(ctx, A);
  RangeFinder<T> range(ctx, std::as_const(A).view());
  ops.rows->fill_normal(options.seed, 0, Q.view());
  for (std::int64_t i = 0; i < n_iter; ++i) {
    ctx.check_stop();
    range.forward(Q, Z);
    if (normalize) ops.factorise->orthonormalize(Z.view());
    range.backward(Z, Q);
    if (normalize) ops.factorise->orthonormalize(Q.view());
    ctx.progress("iterations", i + 1, n_iter, "iterations");
  }
  range.forward(Q, Z);
  ops.factorise->orthonormalize(Z.view());

  Matrix<T> B(ctx.memory(), width, small), U(ctx.memory(), width, width), Vt(ctx.memory(), width, small);
  Array<T> s(ctx.memory(), width);
  range.project(Z, B);
  ops.factorise->svd(B.view(), U.view(), s.view(), Vt.view());
  if (!range.is_transposed()) return spectrum_of(s.to_host(), Vt.to_host(), options.n_components, n);
  Matrix<T> components(ctx.memory(), width, large);   // (Z U)'
  ops.linear->gemm(Transpose::kYes, Transpose::kYes, T{1}, std::as_const(U).view(), std::as_const(Z).view(), T{0},
                   components.view());
  return spectrum_of(s.to_host(), components.to_host(), options.n_components, n);
}

// M is X or X', the one that is tall; both are stored as rows.
template <class T>
Spectrum sparse_spectrum(const Context& ctx, const Samples<T>& X, const RandomizedOptions& options) {
  const SparseRows<T> rows(ctx, X);
  const CsrMatrix<T> columns = transposed(ctx, rows.view());
  const std::int64_t n = X.n_rows(), d = X.n_cols(), small = std::min(n, d);
  const CsrView<const T> M = n >= d ? rows.view() : columns.view(), Mt = n >= d ? columns.view() : rows.view();
  const std::int64_t width = std::min(options.n_components + options.n_oversamples, small), n_iter = options.iterations(n, d);
  const bool normalize = options.normalizer == "auto" ? n_iter > 2 : options.normalizer != "none";
  Backend<double>& ops = ctx.ops<double>();
  Matrix<double> Q(ctx.memory(), small, width), Z(ctx.memory(), std::max(n, d), width);
  ops.rows->fill_normal(options.seed, 0, Q.view());
  for (std::int64_t i = 0; i < n_iter; ++i) {
    ctx.check_stop();
    ctx.ops<T>().sparse->multiply(M, std::as_const(Q).view(), Z.view());
    if (normalize) ops.factorise->orthonormalize(Z.view());
    ctx.ops<T>().sparse->multiply(Mt, std::as_const(Z).view(), Q.view());
    if (normalize) ops.factorise->orthonormalize(Q.view());
    ctx.progress("iterations", i + 1, n_iter, "iterations");
  }
  ctx.ops<T>().sparse->multiply(M, std::as_const(Q).view(), Z.view());
  ops.factorise->orthonormalize(Z.view());
  ctx.ops<T>().sparse->multiply(Mt, std::as_const(Z).view(),
                                Q.view());   // (Z'M)' = U diag(s) Vt, so M is about (Z Vt') diag(s) U'
  Matrix<double> U(ctx.memory(), small, width), Vt(ctx.memory(), width, width), right(ctx.memory(), width, d);
  Array<double> s(ctx.memory(), width);
  ops.factorise->svd(Q.view(), U.view(), s.view(), Vt.view());
  if (n < d) {
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, std::as_const(Vt).view(), std::as_const(Z).view(), 0.0,
                     right.view());
    return spectrum_of(s.to_host(), right.to_host(), options.n_components, n);
  }
  const std::vector<double> left = U.to_host();
  std::vector<double> components(left.size());
  for (std::size_t e = 0; e < left.size(); ++e)
    components[e % static_cast<std::size_t>(width) * static_cast<std::size_t>(small) + e / static_cast<std::size_t>(width)] = left[e];
  return spectrum_of(s.to_host(), components, options.n_components, n);
}

std::int64_t RandomizedOptions::iterations(std::int64_t n, std::int64_t d) const {
  const bool few = static_cast<double>(n_components) < 0.1 * static_cast<double>(std::min(n, d));
  return n_iter.value_or(few ? 7 : 4);
}

// Multiply-adds: half of n d^2 for the products and about 9 d^3 for the eigenvectors, against two products of n d width an iteration,
// their orthonormalisation (which runs at a fifth of the speed of a product) left out. On a GPU a narrow product takes as long as
// reading the samples does, in which time the other one makes some 32 columns.
bool is_covariance_cheaper(const Context& ctx, std::int64_t n, std::int64_t d, const RandomizedOptions& options) {
  if (n < d) return false;
  const double rows = static_cast<double>(n), cols = static_cast<double>(d);
  const std::int64_t narrowest = ctx.device.traits().uses_host_memory ? 1 : 32;
  const double width = static_cast<double>(std::max(std::min(options.n_components + options.n_oversamples, d), narrowest));
  const double passes = 2.0 * static_cast<double>(options.iterations(n, d) + 1);
  return rows * cols * cols / 2 + 9 * cols * cols * cols < passes * rows * cols * width;
}

std::int64_t minka_dimension(const std::vector<double>& variance, std::int64_t n_samples) {
  std::int64_t best = 0;
  double best_likelihood = -std::numeric_limits<double>::infinity();
  for (std::int64_t rank = 1; rank < static_cast<std::int64_t>(variance.size()); ++rank) {
    const double likelihood = rank_likelihood(variance, rank, static_cast<double>(n_samples));
    if (likelihood > best_likelihood) best = rank, best_likelihood = likelihood;
  }
  return best;
}

void fix_signs(std::vector<double>& components, std::int64_t cols) {
  for (auto row = components.begin(); row != components.end(); row += cols) {
    const auto largest = std::max_element(row, row + cols, [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0) std::transform(row, row + cols, row, std::negate<>());
  }
}

double singular_value(const Spectrum& spectrum, std::int64_t i, std::int64_t n_samples) {
  return std::sqrt(spectrum.variance[static_cast<std::size_t>(i)] * static_cast<double>(n_samples > 1 ? n_samples - 1 : 1));
}

template <class T>
std::vector<T> projection(const std::vector<double>& components, const std::vector<double>& variances, std::int64_t cols) {
  constexpr double kSmallest = std::numeric_limits<T>::epsilon();   // of a standard deviation, as scikit-learn
  std::vector<T> weights(components.begin(), components.end());
  for (std::size_t e = 0; e < weights.size() && !variances.empty(); ++e)
    weights[e] = static_cast<T>(components[e] / std::max(std::sqrt(variances[e / static_cast<std::size_t>(cols)]), kSmallest));
  return weights;
}

template <class T>
Samples<T> project(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean, const std::vector<T>& components) {
  const std::int64_t count = static_cast<std::int64_t>(components.size()) / X.n_cols();
  const Matrix<T> W(ctx.memory(), count, X.n_cols(), components);
  Matrix<T> projected = table_matrix<T>(ctx.device, X.n_rows(), count);
  const auto fill = [&](Part rows) {
    for_blocks_of(ctx, X, mean, rows, [&](std::int64_t first, MatrixView<const T> block) {
      ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, block, W.view(), T{0},
                                projected.view().row_range(first, block.rows));
    });
  };
  if (count == 0) return samples_of(std::move(projected));
  if (Ranks* const ranks = ranks_of_blocks(ctx, X)) give_rows(ctx, *ranks, X, projected, fill);
  else fill({0, X.n_rows()});
  return samples_of(std::move(projected));
}

#define KEDGE_INSTANTIATE(T)                                                                                               \
  template void for_centred_blocks(const Context&, const Samples<T>&, const std::vector<double>&,                          \
                                   const std::function<void(std::int64_t, MatrixView<const T>)>&);                         \
  template Spectrum covariance_spectrum(const Context&, const Samples<T>&, const std::vector<double>&, std::int64_t);      \
  template bool is_well_conditioned<T>(const Spectrum&, std::int64_t);                                                     \
  template Spectrum sparse_spectrum(const Context&, const Samples<T>&, const RandomizedOptions&);                          \
  template Spectrum svd_spectrum(const Context&, const Samples<T>&, const std::vector<double>&);                           \
  template std::vector<T> projection(const std::vector<double>&, const std::vector<double>&, std::int64_t);                \
  template Samples<T> project(const Context&, const Samples<T>&, const std::vector<double>&, const std::vector<T>&);       \
  template Spectrum randomized_spectrum(const Context&, const Samples<T>&, const std::vector<double>&, const RandomizedOptions&);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}  // namespace kedge::engine
