// Expectation: densities by products with the factors of the precisions. Maximisation: weighted Gram matrices.
#include "engine/estimators/mixture/mixture_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/core/require.h"
#include "engine/estimators/cluster/cluster_centers.h"
#include "engine/estimators/dealt_sums.h"
#include "engine/estimators/mixture/small_cholesky.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;
constexpr std::int64_t kBlockEntries = std::int64_t{1}
                                       << 18;   // of transformed rows: 2 MiB, in the caches of the cores
constexpr double kLeastShare = 1e-300;          // whose logarithm is still a number
const double kLogTwoPi = std::log(2 * std::numbers::pi);

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// M x for a lower triangle M of side d.
void multiply_lower(const double* M, const double* x, std::int64_t d, double* out) {
  for (std::int64_t i = 0; i < d; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j <= i; ++j) sum += M[i * d + j] * x[j];
    out[i] = sum;
  }
}

// Log densities and log weights of full components: |M x - M mean|^2 / 2 of all components in one product a block.
void full_joint(const Context& ctx, MatrixView<const double> X, const MixtureComponents& c, MatrixView<double> joint) {
  const std::int64_t n = c.n, d = c.d;
  Numbers offsets(at(n * d)), constants = c.log_weights;
  const Numbers determinants = c.log_determinants();
  for (std::int64_t k = 0; k < n; ++k) {
    multiply_lower(c.factors.data() + k * d * d, c.means.data() + k * d, d, offsets.data() + k * d);
    constants[at(k)] += determinants[at(k)] - 0.5 * static_cast<double>(d) * kLogTwoPi;
  }
  for (double& offset : offsets) offset = -offset;
  const Matrix<double> factors(ctx.memory(), n * d, d, c.factors), half(ctx.memory(), 1, n, Numbers(at(n), -0.5));
  const Array<double> shift(ctx.memory(), std::span<const double>(offsets)),
      constant(ctx.memory(), std::span<const double>(constants));
  const std::int64_t step = std::max({std::int64_t{256}, kBlockEntries / (n * d), block_rows(ctx, 1, n * d)});
  Matrix<double> block(ctx.memory(), std::min(step, X.rows), n * d);
  Backend<double>& ops = ctx.ops<double>();
  for (std::int64_t first = 0; first < X.rows; first += step) {
    const std::int64_t count = std::min(step, X.rows - first);
    const MatrixView<double> rows = block.view().row_range(0, count);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, X.row_range(first, count), factors.view(), 0.0, rows);
    ops.rows->add_to_rows(shift.view(), rows);
    ops.rows->row_squared_norms({block.data(), count * n, d}, {joint.row_range(first, count).data, count * n});
  }
  ops.maps->combine(Binary::kMultiply, joint, half.view(), joint);
  ops.rows->add_to_rows(constant.view(), joint);
}

// The same for components whose columns are independent, after one product where they share a factor.
void diagonal_joint(const Context& ctx, MatrixView<const double> X, const MixtureComponents& c,
                    MatrixView<double> joint) {
  const std::int64_t n = c.n, d = c.d;
  const bool is_tied = c.kind == CovarianceKind::kTied;
  Numbers means = c.means, variances(at(n * d), 1.0), constants = c.log_weights;
  for (std::int64_t k = 0; k < n; ++k) {
    if (is_tied) {
      multiply_lower(c.factors.data(), c.means.data() + k * d, d, means.data() + k * d);
      continue;
    }
    for (std::int64_t j = 0; j < d; ++j) {
      const double root = c.factors[at(c.kind == CovarianceKind::kDiag ? k * d + j : k)];
      variances[at(k * d + j)] = 1 / (root * root);
    }
  }
  const Numbers determinants = c.log_determinants();
  for (std::int64_t k = 0; is_tied && k < n; ++k) constants[at(k)] += determinants[at(k)];
  const Matrix<double> mean(ctx.memory(), n, d, means), variance(ctx.memory(), n, d, variances);
  const Array<double> constant(ctx.memory(), std::span<const double>(constants));
  Backend<double>& ops = ctx.ops<double>();
  if (!is_tied) return ops.bayes->gaussian_log_likelihood(X, mean.view(), variance.view(), constant.view(), joint);
  const Matrix<double> factor(ctx.memory(), d, d, c.factors);
  const std::int64_t step = std::max({std::int64_t{256}, kBlockEntries / d, block_rows(ctx, 1, d)});
  Matrix<double> block(ctx.memory(), std::min(step, X.rows), d);
  for (std::int64_t first = 0; first < X.rows; first += step) {
    const std::int64_t count = std::min(step, X.rows - first);
    const MatrixView<double> rows = block.view().row_range(0, count);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, X.row_range(first, count), factor.view(), 0.0, rows);
    ops.bayes->gaussian_log_likelihood(rows, mean.view(), variance.view(), constant.view(),
                                       joint.row_range(first, count));
  }
}

double column_total(const Context& ctx, const Matrix<double>& values) {
  Array<double> sums(ctx.memory(), values.cols());
  ctx.ops<double>().rows->column_sums(values.view(), sums.view());
  double total = 0;
  for (const double sum : sums.to_host()) total += sum;
  return total;
}

[[noreturn]] void refuse_component(const char* owner, CovarianceKind kind, std::int64_t k, double reg_covar) {
  const std::string which = kind == CovarianceKind::kTied ? "the covariance that the components share"
                                                          : "the covariance of component " + std::to_string(k);
  throw schema::Error(schema::ErrorCode::kBadData,
                      fmt::format("{}: {} is not positive definite: its rows are too few or lie in too few directions; "
                                  "lower n_components, raise reg_covar (now {}) or scale the columns",
                                  owner, which, reg_covar));
}

}   // namespace

CovarianceKind covariance_kind(const std::string& name) {
  return name == "full"   ? CovarianceKind::kFull
         : name == "tied" ? CovarianceKind::kTied
         : name == "diag" ? CovarianceKind::kDiag
                          : CovarianceKind::kSpherical;
}

std::size_t covariance_size(CovarianceKind kind, std::int64_t n, std::int64_t d) {
  switch (kind) {
    case CovarianceKind::kFull:
      return at(n * d * d);
    case CovarianceKind::kTied:
      return at(d * d);
    case CovarianceKind::kDiag:
      return at(n * d);
    case CovarianceKind::kSpherical:
      return at(n);
  }
  return 0;
}

Numbers MixtureComponents::log_determinants() const {
  Numbers sums(at(n), 0.0);
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t j = 0; j < d; ++j) {
      const std::int64_t place = kind == CovarianceKind::kFull   ? (k * d + j) * d + j
                                 : kind == CovarianceKind::kTied ? j * d + j
                                 : kind == CovarianceKind::kDiag ? k * d + j
                                                                 : k;
      sums[at(k)] += std::log(factors[at(place)]);
    }
  return sums;
}

MixtureRows::MixtureRows(const Context& ctx, MatrixView<const double> X, CovarianceKind kind, std::int64_t n_components)
    : ctx_(ctx), X_(X), kind_(kind), shares_(ctx.memory(), X.rows, n_components) {
  const bool has_matrices = kind == CovarianceKind::kFull || kind == CovarianceKind::kTied;
  if (is_narrow_mixture(has_matrices, X.cols)) ops_ = mixture_ops(*ctx.ops<double>().bayes);
  if (ops_) {
    densities_ = Array<double>(ctx.memory(), X.rows);
  } else {
    joint_ = Matrix<double>(ctx.memory(), X.rows, n_components);
    terms_ = Matrix<double>(ctx.memory(), X.rows, n_components);
  }
}

MixtureLikelihood MixtureRows::expect(const MixtureComponents& components) {
  return ops_ ? expect_by_rows(components) : expect_by_blocks(components);
}

MixtureLikelihood MixtureRows::expect_by_rows(const MixtureComponents& c) {
  const std::int64_t n = c.n, d = c.d;
  const bool is_full = c.kind == CovarianceKind::kFull, is_tied = c.kind == CovarianceKind::kTied;
  Numbers offsets(at(n * d)), diagonals, constants = c.log_weights;
  const Numbers determinants = c.log_determinants();
  for (std::int64_t k = 0; k < n; ++k) {
    constants[at(k)] += determinants[at(k)] - 0.5 * static_cast<double>(d) * kLogTwoPi;
    if (is_full || is_tied) {
      multiply_lower(c.factors.data() + (is_full ? k * d * d : 0), c.means.data() + k * d, d, offsets.data() + k * d);
      continue;
    }
    for (std::int64_t j = 0; j < d; ++j) {
      diagonals.push_back(c.factors[at(c.kind == CovarianceKind::kDiag ? k * d + j : k)]);
      offsets[at(k * d + j)] = diagonals.back() * c.means[at(k * d + j)];
    }
  }
  const NormalComponents normal{.n = n,
                                .d = d,
                                .form = is_full   ? FactorForm::kEach
                                        : is_tied ? FactorForm::kShared
                                                  : FactorForm::kDiagonal,
                                .factors = diagonals.empty() ? c.factors.data() : diagonals.data(),
                                .offsets = offsets.data(),
                                .constants = constants.data()};
  const MixtureSums sums = ops_->share_rows(X_, normal, shares_.view(), densities_.view());
  return {.log_density = sums.log_density / static_cast<double>(X_.rows), .entropy = sums.entropy};
}

// The log density of a row is z - log p for any component with the logarithm z of its joint density and the share p;
// their mean weighted by the shares is taken, in which what rounding did to small shares weighs nothing.
MixtureLikelihood MixtureRows::expect_by_blocks(const MixtureComponents& components) {
  Backend<double>& ops = ctx_.ops<double>();
  if (components.kind == CovarianceKind::kFull) full_joint(ctx_, X_, components, joint_.view());
  else diagonal_joint(ctx_, X_, components, joint_.view());
  const MatrixView<const double> joint = std::as_const(joint_).view(), shares = std::as_const(shares_).view(),
                                 terms = std::as_const(terms_).view();
  ctx_.memory().copy(shares_.data(), joint_.data(), static_cast<std::size_t>(joint.size()) * sizeof(double));
  ops.rows->softmax_rows(shares_.view());
  const Matrix<double> least(ctx_.memory(), 1, 1, Numbers{kLeastShare});
  ops.maps->combine(Binary::kMaximum, shares, least.view(), terms_.view());
  ops.maps->map(Unary::kLog, 1, terms, terms_.view());
  ops.maps->combine(Binary::kSubtract, joint, terms, joint_.view());   // the row's log density, by every component
  ops.maps->combine(Binary::kMultiply, shares, terms, terms_.view());
  const double entropy = -column_total(ctx_, terms_);
  ops.maps->combine(Binary::kMultiply, shares, joint, terms_.view());
  return {.log_density = column_total(ctx_, terms_) / static_cast<double>(X_.rows), .entropy = entropy};
}

Matrix<double> MixtureRows::log_densities() const {
  Matrix<double> sums(ctx_.memory(), X_.rows, 1);
  if (ops_) {
    ctx_.memory().copy(sums.data(), densities_.data(), at(X_.rows) * sizeof(double));
    return sums;
  }
  const Matrix<double> ones(ctx_.memory(), terms_.cols(), 1, Numbers(at(terms_.cols()), 1.0));
  ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, terms_.view(), ones.view(), 0.0, sums.view());
  return sums;
}

Part MixtureRows::own_part_of_rows() const {
  return own_rows(ops_ ? ranks_of_rows_on(ctx_.device, X_.rows) : nullptr, X_.rows);
}

void MixtureRows::set_labels(const std::vector<std::int32_t>& labels) {
  const Part own = own_part_of_rows();
  const Matrix<double> positions(ctx_.memory(), own.size(), 1,
                                 Numbers(labels.begin() + own.begin, labels.begin() + own.end));
  ctx_.ops<double>().categories->one_hot(positions.view(), shares_.view().row_range(own.begin, own.size()));
}

void MixtureRows::set_shares(const Numbers& shares) {
  const Part own = own_part_of_rows();
  const std::int64_t first = own.begin * shares_.cols(), count = own.size() * shares_.cols();
  ctx_.memory().to_device(shares_.data() + first, shares.data() + first, at(count) * sizeof(double));
}

std::vector<std::int32_t> MixtureRows::largest_shares() const {
  const Part own = own_part_of_rows();
  Array<std::int32_t> labels(ctx_.memory(), X_.rows);
  ctx_.ops<double>().rows->argmax_rows(shares().row_range(own.begin, own.size()),
                                       labels.view().slice(own.begin, own.size()));
  give_labels(ctx_, labels);
  return labels.to_host();
}

const Numbers& MixtureRows::scatter() {
  if (scatter_.empty()) {
    Matrix<double> gram(ctx_.memory(), X_.cols, X_.cols);
    ctx_.ops<double>().linear->gram(1.0, X_, gram.view());
    scatter_ = gram.to_host();
  }
  return scatter_;
}

MixtureMoments MixtureRows::full_moments(double reg_covar) const {
  const std::int64_t n = shares_.cols(), d = X_.cols, q = d + 1, size = ops_ ? n_terms(RowTerms::kProducts, d) : q * q;
  Numbers totals;
  if (ops_) {
    totals = ops_->sum_terms(X_, shares_.view(), RowTerms::kProducts);
  } else {
    Matrix<double> blocks(ctx_.memory(), n * q, q);
    ctx_.ops<double>().linear->weighted_gram(X_, shares_.view(), true, blocks.view());
    totals = blocks.to_host();
  }
  MixtureMoments made;
  made.covariances.resize(at(n * d * d));
  for (std::int64_t k = 0; k < n; ++k) {
    const double *const sum = totals.data() + k * size, *const last = sum + size - q;   // of x, then of 1
    const double count = last[d] + 10 * std::numeric_limits<double>::epsilon();
    made.counts.push_back(count);
    for (std::int64_t j = 0; j < d; ++j) made.means.push_back(last[j] / count);
    const double* const mean = made.means.data() + k * d;
    double* const S = made.covariances.data() + k * d * d;
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        S[i * d + j] = S[j * d + i] =
            sum[ops_ ? i * (i + 1) / 2 + j : i * q + j] / count - mean[i] * mean[j] + (i == j ? reg_covar : 0);
  }
  return made;
}

MixtureRows::DiagonalSums MixtureRows::diagonal_sums() {
  const std::int64_t n = shares_.cols(), d = X_.cols;
  const bool has_squares = kind_ != CovarianceKind::kTied;
  const MatrixView<const double> shares = std::as_const(shares_).view();
  DiagonalSums made;
  if (ops_) {
    const RowTerms terms = has_squares ? RowTerms::kSquares : RowTerms::kValues;
    const Numbers sums = ops_->sum_terms(X_, shares, terms);
    const std::int64_t size = n_terms(terms, d);
    for (std::int64_t k = 0; k < n; ++k) {
      const auto end = sums.begin() + (k + 1) * size;
      made.counts.push_back(end[-1]);
      made.values.insert(made.values.end(), end - 1 - d, end - 1);
      if (has_squares) made.squares.insert(made.squares.end(), end - size, end - 1 - d);
    }
    return made;
  }
  Backend<double>& ops = ctx_.ops<double>();
  Array<double> counts(ctx_.memory(), n);
  Matrix<double> sums(ctx_.memory(), n, d);
  ops.rows->column_sums(shares, counts.view());
  ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, shares, X_, 0.0, sums.view());
  made.counts = counts.to_host(), made.values = sums.to_host();
  if (!has_squares) return made;
  if (squares_.rows() == 0) {
    squares_ = Matrix<double>(ctx_.memory(), X_.rows, d);
    ops.maps->map(Unary::kSquare, 1, X_, squares_.view());
  }
  ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, shares, std::as_const(squares_).view(), 0.0, sums.view());
  made.squares = sums.to_host();
  return made;
}

MixtureMoments MixtureRows::moments(double reg_covar) {
  if (kind_ == CovarianceKind::kFull) return full_moments(reg_covar);
  const std::int64_t n = shares_.cols(), d = X_.cols;
  DiagonalSums sums = diagonal_sums();
  MixtureMoments made{.counts = std::move(sums.counts), .means = std::move(sums.values)};
  for (double& count : made.counts) count += 10 * std::numeric_limits<double>::epsilon();
  for (std::int64_t e = 0; e < n * d; ++e) made.means[at(e)] /= made.counts[at(e / d)];
  if (kind_ == CovarianceKind::kTied) {
    made.covariances = scatter();
    double total = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const double* const mean = made.means.data() + k * d;
      for (std::int64_t e = 0; e < d * d; ++e)
        made.covariances[at(e)] -= made.counts[at(k)] * mean[e / d] * mean[e % d];
      total += made.counts[at(k)];
    }
    for (std::int64_t e = 0; e < d * d; ++e)
      made.covariances[at(e)] = made.covariances[at(e)] / total + (e / d == e % d ? reg_covar : 0);
    return made;
  }
  Numbers variances = std::move(sums.squares);
  for (std::int64_t e = 0; e < n * d; ++e)
    variances[at(e)] = variances[at(e)] / made.counts[at(e / d)] - made.means[at(e)] * made.means[at(e)] + reg_covar;
  if (kind_ == CovarianceKind::kSpherical) {
    made.covariances.assign(at(n), 0.0);
    for (std::int64_t e = 0; e < n * d; ++e) made.covariances[at(e / d)] += variances[at(e)] / static_cast<double>(d);
  } else {
    made.covariances = std::move(variances);
  }
  return made;
}

Numbers precision_factors(const char* owner, CovarianceKind kind, std::int64_t n, std::int64_t d,
                          const Numbers& covariances, double reg_covar) {
  Numbers factors(covariances.size());
  if (kind == CovarianceKind::kDiag || kind == CovarianceKind::kSpherical) {
    for (std::size_t e = 0; e < factors.size(); ++e) {
      if (!(covariances[e] > 0) || !std::isfinite(covariances[e]))
        refuse_component(owner, kind, static_cast<std::int64_t>(e) / (kind == CovarianceKind::kDiag ? d : 1),
                         reg_covar);
      factors[e] = 1 / std::sqrt(covariances[e]);
    }
    return factors;
  }
  Numbers L(at(d * d));
  for (std::int64_t k = 0; k < (kind == CovarianceKind::kTied ? 1 : n); ++k) {
    if (!lower_cholesky(covariances.data() + k * d * d, d, L.data())) refuse_component(owner, kind, k, reg_covar);
    invert_lower(L.data(), d, factors.data() + k * d * d);
  }
  return factors;
}

// The upper triangle U with U U' = P has the transposed M that is wanted: P read backwards has the Cholesky factor U
// read backwards.
Numbers factors_of_precisions(const char* owner, CovarianceKind kind, std::int64_t n, std::int64_t d,
                              const Numbers& precisions) {
  Numbers factors(precisions.size());
  const auto refuse = [&](std::int64_t k) {
    throw schema::Error(schema::ErrorCode::kBadData,
                        fmt::format("{}: precisions_init of component {} is not positive definite", owner, k));
  };
  if (kind == CovarianceKind::kDiag || kind == CovarianceKind::kSpherical) {
    for (std::size_t e = 0; e < factors.size(); ++e) {
      if (!(precisions[e] > 0)) refuse(static_cast<std::int64_t>(e) / (kind == CovarianceKind::kDiag ? d : 1));
      factors[e] = std::sqrt(precisions[e]);
    }
    return factors;
  }
  Numbers backwards(at(d * d)), L(at(d * d));
  for (std::int64_t k = 0; k < (kind == CovarianceKind::kTied ? 1 : n); ++k) {
    std::reverse_copy(precisions.begin() + k * d * d, precisions.begin() + (k + 1) * d * d, backwards.begin());
    if (!lower_cholesky(backwards.data(), d, L.data())) refuse(k);
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j <= i; ++j)   // M[i][j] = U[j][i] = L[d - 1 - j][d - 1 - i]
        factors[at(k * d * d + i * d + j)] = L[at((d - 1 - j) * d + d - 1 - i)];
  }
  return factors;
}

Numbers precisions_of(CovarianceKind kind, std::int64_t n, std::int64_t d, const Numbers& factors) {
  Numbers precisions(factors.size());
  if (kind == CovarianceKind::kDiag || kind == CovarianceKind::kSpherical) {
    std::ranges::transform(factors, precisions.begin(), [](double root) { return root * root; });
    return precisions;
  }
  for (std::int64_t k = 0; k < (kind == CovarianceKind::kTied ? 1 : n); ++k)
    lower_square(factors.data() + k * d * d, d, precisions.data() + k * d * d);
  return precisions;
}

Numbers upper_factors(CovarianceKind kind, std::int64_t n, std::int64_t d, const Numbers& factors) {
  if (kind == CovarianceKind::kDiag || kind == CovarianceKind::kSpherical) return factors;
  Numbers upper(factors.size());
  for (std::int64_t k = 0; k < (kind == CovarianceKind::kTied ? 1 : n); ++k)
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j < d; ++j) upper[at(k * d * d + j * d + i)] = factors[at(k * d * d + i * d + j)];
  return upper;
}

}   // namespace kedge::engine
