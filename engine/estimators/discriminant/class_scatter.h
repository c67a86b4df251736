// How the rows of each class scatter about its mean: triangles and covariances in double, with shrinkage.
#pragma once

#include <optional>
#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// Covariance matrices are pulled towards a multiple of the unit matrix: by nothing, by a share, or by Ledoit and Wolf's estimate
// of it.
struct Shrinkage {
  bool is_automatic = false;
  double share = 0;
};

// The rows of X by class. Borrows X's table; host results, row-major, d columns.
template <class T>
class ClassScatter {
 public:
  ClassScatter(const Context& ctx, const Samples<T>& X, const PresentClasses& present, const Target& y);
  std::int64_t n_rows() const { return X_.n_rows(); }
  std::int64_t n_rows(std::int32_t position) const {
    return static_cast<std::int64_t>(rows_[static_cast<std::size_t>(position)].size());
  }
  const std::vector<double>& means() const { return means_; }  // classes x d
  // Standard deviation of each column within the classes (n in the denominator); 0 where nothing but rounding is left.
  const std::vector<double>& spread() const { return spread_; }

  // d x d upper triangle R: R'R = sum over classes of the rows less their class's mean, columns times `scale`.
  std::vector<double> within_triangle(const Context& ctx, const std::vector<double>& scale) const;
  // The same of one class alone, columns as they are.
  std::vector<double> class_triangle(const Context& ctx, std::int32_t position) const;
  // Of one class (n in the denominator), or of all rows about their common mean.
  std::vector<double> covariance(const Context& ctx, std::int32_t position, const Shrinkage& shrinkage) const;
  std::vector<double> total_covariance(const Context& ctx, const Shrinkage& shrinkage) const;

 private:
  std::vector<double> covariance_of(const Context& ctx, const Samples<T>& rows, const std::vector<double>& mean,
                                    const std::vector<double>& variance, const Shrinkage& shrinkage) const;
  Samples<T> rows_of(const Context& ctx, std::int32_t position) const;

  Samples<T> X_;
  std::vector<std::vector<std::int32_t>> rows_;  // of the table, by class
  std::vector<double> means_, variances_, spread_;
};

// A (m x n) times B (n x p), each transposed where asked; on the device, from host to host.
std::vector<double> host_product(const Context& ctx, std::span<const double> A, std::int64_t a_cols, bool transpose_a,
                                 std::span<const double> B, std::int64_t b_cols, bool transpose_b);

}  // namespace kedge::engine
