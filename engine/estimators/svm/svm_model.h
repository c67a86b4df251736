// What a support vector machine keeps of its fit: support vectors and their coefficients; decisions from them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/svm/smo_solver.h"

namespace kedge::engine {

class StateArchive;

template <class T>
class SvmModel {
 public:
  // Forgets the former fit; the kernel has its gamma.
  void begin(const char* owner, const KernelChoice& kernel, bool in_double, std::int64_t n_rows,
             std::int64_t n_features);
  // The rows of X at these positions become the support vectors, in their order, in groups that begin at `first` (and
  // end where the next begins). coefs: width x n_support, row-major.
  void set_support(const Context& ctx, const Samples<T>& X, std::vector<std::int64_t> support,
                   std::vector<double> coefs, std::int64_t width, std::vector<std::int64_t> first);
  void add_fit(const SmoResult& result);   // what it says of itself

  // For blocks of rows: take(first row, rows, sums), sums[i * groups * width + g * width + w] = the sum over the
  // support vectors of group g of their coefficient w times their kernel with row i. Host.
  using Take = std::function<void(std::int64_t first, std::int64_t rows, const std::vector<double>& sums)>;
  void products(const Context& ctx, const char* owner, const Samples<T>& X, const Take& take) const;

  std::int64_t n_support() const { return static_cast<std::int64_t>(support_.size()); }
  std::int64_t n_groups() const { return static_cast<std::int64_t>(first_.size()); }
  std::int64_t group_size(std::int64_t g) const;
  std::int64_t width() const { return width_; }
  const std::vector<double>& coefs() const { return coefs_; }
  std::vector<double> intercept;   // of each decision

  // support_, support_vectors_, dual_coef_ and so on; `sign` is what coefficients and intercepts are shown with.
  schema::ValueMap attributes(double sign, bool is_list_of_fits) const;
  static std::vector<std::string> attribute_names();
  void state(StateArchive& archive, std::int64_t n_groups, std::int64_t width, std::int64_t n_decisions);

 private:
  std::vector<double> linear_coef(double sign) const;   // of one decision, or of all pairs of groups
  Matrix<double> decisions(const Context& ctx, const Samples<T>& X, std::int64_t first, std::int64_t count,
                           const Matrix<T>& vectors, const Matrix<double>& wide) const;

  const char* owner_ = "";
  KernelChoice kernel_;
  bool in_double_ = false;
  std::int64_t n_rows_ = 0, n_features_ = 0, width_ = 1;
  std::vector<std::int64_t> support_, first_;
  std::vector<T> vectors_;
  std::vector<double> coefs_, gaps_, objectives_, n_iter_;
  bool has_converged_ = true;
};

}   // namespace kedge::engine
