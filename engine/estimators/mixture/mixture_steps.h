// The two steps of expectation maximisation for Gaussian mixtures, on rows that lie centred and in double on the
// device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend/ops/mixtures.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

enum class CovarianceKind { kFull, kTied, kDiag, kSpherical };
CovarianceKind covariance_kind(const std::string& name);

// Numbers of a covariance by kind: n d d, d d, n d or n.
std::size_t covariance_size(CovarianceKind kind, std::int64_t n, std::int64_t d);

// The components as a step reads them; host, row-major.
struct MixtureComponents {
  CovarianceKind kind = CovarianceKind::kFull;
  std::int64_t n = 0, d = 0;
  std::vector<double> means;     // n x d
  std::vector<double> factors;   // by kind: lower triangles M, where M'M is the precision; diag, spherical: its roots
  std::vector<double> log_weights;   // n: what is added to a component's log density

  // The sum of the logarithms of the diagonal of each component's factor: half the log determinant of its precision.
  std::vector<double> log_determinants() const;
};

// How rows weigh in the components: what the maximisation step reads.
struct MixtureMoments {
  std::vector<double> counts;        // n, above 0
  std::vector<double> means;         // n x d
  std::vector<double> covariances;   // by kind, with reg_covar on the diagonal
};

// What one expectation step says of its rows.
struct MixtureLikelihood {
  double log_density = 0;   // mean over the rows
  double entropy = 0;       // of the shares, summed over the rows
};

// Shares of the components in each row and its log density under the whole mixture, and the buffers of the steps: row
// by row where the device does that (MixtureOps), else by products and maps of blocks. Where ranks divide the sums over
// the rows, row by row, a rank has the shares of its own rows alone.
class MixtureRows {
 public:
  // Borrows the rows (device, double, without padding). Buffers: rows x components once and a number a row, or rows x
  // components three times.
  MixtureRows(const Context& ctx, MatrixView<const double> X, CovarianceKind kind, std::int64_t n_components);

  // Shares of the components in each row, by their densities. Components of the same kind.
  MixtureLikelihood expect(const MixtureComponents& components);
  // Shares from outside: the label of each row, or numbers (host, rows x components, each row sums to 1).
  void set_labels(const std::vector<std::int32_t>& labels);
  void set_shares(const std::vector<double>& shares);
  // Weighted by the shares. Covariances are about each component's own mean.
  MixtureMoments moments(double reg_covar);
  // Sum of x x' over all rows, d x d. Computed once.
  const std::vector<double>& scatter();

  MatrixView<const double> shares() const { return shares_.view(); }
  // The label of the largest share of each row, of all rows on every rank.
  std::vector<std::int32_t> largest_shares() const;
  // Rows x 1: the log density of each row, after expect().
  Matrix<double> log_densities() const;

 private:
  // Of 1, x and x^2, weighted by the shares: by component; no squares where components share a covariance.
  struct DiagonalSums {
    std::vector<double> counts, values, squares;
  };
  MixtureLikelihood expect_by_rows(const MixtureComponents& components);
  MixtureLikelihood expect_by_blocks(const MixtureComponents& components);
  MixtureMoments full_moments(double reg_covar) const;
  Part own_part_of_rows() const;   // whose shares this rank has
  DiagonalSums diagonal_sums();

  const Context& ctx_;
  MatrixView<const double> X_;
  CovarianceKind kind_;
  MixtureOps* ops_ = nullptr;   // null: by blocks
  Matrix<double> shares_;       // rows x components
  Array<double> densities_;     // by rows: the log density of each
  Matrix<double> joint_, terms_,
      squares_;   // by blocks: rows x components, and X squared for kinds with diagonals alone
  std::vector<double> scatter_;
};

// The factors of precisions from covariances, by kind. Errors: kBadData that names the component and what to change.
std::vector<double> precision_factors(const char* owner, CovarianceKind kind, std::int64_t n, std::int64_t d,
                                      const std::vector<double>& covariances, double reg_covar);
// Factors from given precisions. Errors: kBadData for one that is not positive definite.
std::vector<double> factors_of_precisions(const char* owner, CovarianceKind kind, std::int64_t n, std::int64_t d,
                                          const std::vector<double>& precisions);
// M'M of each factor, by kind.
std::vector<double> precisions_of(CovarianceKind kind, std::int64_t n, std::int64_t d,
                                  const std::vector<double>& factors);
// As scikit-learn's precisions_cholesky_ has them: upper triangles.
std::vector<double> upper_factors(CovarianceKind kind, std::int64_t n, std::int64_t d,
                                  const std::vector<double>& factors);

}   // namespace kedge::engine
