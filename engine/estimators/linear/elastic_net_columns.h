// The columns of a design, dense or sparse, as working sets and the dual method use them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/sparse_problem.h"

namespace kedge::engine {

// y is the target, weighted and centred; vectors are host memory.
class DesignColumns {
 public:
  virtual ~DesignColumns() = default;
  virtual std::vector<double> squared_norms() const = 0;
  virtual std::vector<double> products(const std::vector<double>& r) const = 0;  // X'r
  // The Gram matrix of some columns and y, last; X w for coefficients of those columns alone, which gram() or
  // outer() took last.
  virtual Matrix<double> gram(const std::vector<std::int32_t>& set) = 0;
  virtual std::vector<double> fitted(const std::vector<std::int32_t>& set,
                                     const std::vector<double>& coef) const = 0;
  // The sum of x x' over some columns x, rows x rows; only if has_outer().
  virtual bool has_outer() const { return false; }
  virtual Matrix<double> outer(const std::vector<std::int32_t>&) { return {}; }
};

class DenseColumns final : public DesignColumns {
 public:
  DenseColumns(const Context& ctx, Matrix<double> X, const std::vector<double>& y);
  std::vector<double> squared_norms() const override;
  std::vector<double> products(const std::vector<double>& r) const override;
  Matrix<double> gram(const std::vector<std::int32_t>& set) override;
  std::vector<double> fitted(const std::vector<std::int32_t>& set,
                             const std::vector<double>& coef) const override;
  bool has_outer() const override { return true; }
  Matrix<double> outer(const std::vector<std::int32_t>& set) override;

 private:
  void take(const std::vector<std::int32_t>& set);
  const Context& ctx_;
  Matrix<double> X_, device_y_, some_;  // some_: the columns that were taken last
};

// Borrows the problem.
template <class T>
class SparseColumns final : public DesignColumns {
 public:
  SparseColumns(const Context& ctx, const SparseProblem<T>& problem)
      : ctx_(ctx), problem_(problem), y_(problem.target(0)) {}
  std::vector<double> squared_norms() const override { return problem_.squared_norms(); }
  std::vector<double> products(const std::vector<double>& r) const override {
    return problem_.transpose_times(ctx_, r);
  }
  Matrix<double> gram(const std::vector<std::int32_t>& set) override;
  std::vector<double> fitted(const std::vector<std::int32_t>& set,
                             const std::vector<double>& coef) const override;

 private:
  const Context& ctx_;
  const SparseProblem<T>& problem_;
  std::vector<double> y_;
};

}  // namespace kedge::engine
